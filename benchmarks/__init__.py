"""What mlaprobe costs in time and memory; ``make bench``."""
