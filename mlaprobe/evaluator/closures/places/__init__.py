"""Where values are stored: lvalues, references and elements."""
