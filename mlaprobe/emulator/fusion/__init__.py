"""Instructions that do alike, carried out together."""
