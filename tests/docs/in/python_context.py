from detcore import core

context = core.init()
context.start()
