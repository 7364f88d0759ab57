"""A decision in words and as data: what explain shows, and what it shares with other commands."""
