"""From what the stages answer to a decision."""
