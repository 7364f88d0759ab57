"""What becomes different between two AITERs, and whether a pin may be bumped."""
