"""What a launch gives: what is done with it afterwards, and how near it is to attention."""
