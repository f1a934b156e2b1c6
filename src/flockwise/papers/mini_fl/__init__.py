"""Mini-FL: Tables 4 and 5 a-c."""
