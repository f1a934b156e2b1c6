"""A study's table in the formats people publish; each file writes one."""
