"""The calls of serving engines, by the names and meanings that each of them uses."""
