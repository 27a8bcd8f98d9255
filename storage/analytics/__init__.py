"""Ad-hoc SQL of callers: the guard that reads it, what it is rewritten to, and the connections that it runs on."""
