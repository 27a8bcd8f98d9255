"""Reading a company's public web site and saying what its customers find there; nothing of this is rendering."""
