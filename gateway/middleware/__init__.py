"""Does what stands around every request, whichever surface it is for."""
