"""The strategies as real processes that are really killed.

An *agent* is a process that walks through the same phases as the simulated worker: it sleeps for its work,
calls a *receiver*, which is another process with a ledger on disk, and saves into a real *store*. A
*supervisor* forks it, kills it by SIGKILL when the time of a crash law has come, and starts it again. What
happened is noted on a *board*, memory that outlives the agent, and counted by `sim.outcomes` like a
simulated run.

What runs in agents and supervisors (board, stores, receiver, agent, supervisor, orders) loads nothing but the
standard library, since a process is forked for every attempt: a lean one in a millisecond.
"""
