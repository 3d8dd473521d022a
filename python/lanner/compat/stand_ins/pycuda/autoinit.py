"""Makes a context of the first GPU current until the process ends."""

import atexit

from . import driver

driver.init()
device = driver.Device(0)
context = device.make_context()
atexit.register(context.pop)
