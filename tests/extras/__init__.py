"""Ways through the libraries that are extras, with the libraries themselves. `.ci/extended extras` runs all of them.

Elsewhere each skips where its library is missing; tests with stand-ins, which always run, lie beside what they test.
"""
