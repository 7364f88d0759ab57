"""Python: from text to the intermediate form, modules and imports included."""
