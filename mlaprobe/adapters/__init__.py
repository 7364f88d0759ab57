"""What serving engines call, by the names and meanings that each of them uses."""
