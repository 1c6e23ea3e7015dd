"""The product in one process under a virtual clock: engine, queues, objects and workers without sockets or threads."""
