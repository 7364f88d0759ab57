"""Rule files: what people know and source cannot say, read strictly."""
