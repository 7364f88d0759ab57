"""From the name of a source to what answers for it."""
