import os

# All servers of these tests are on this machine, and a proxy of it would be none of them.
for _name in list(os.environ):
    if _name.lower().endswith("_proxy"):
        del os.environ[_name]
