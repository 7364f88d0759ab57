"""What commands share: options, arguments, progress, streams."""
