"""What listeners of a run are told, as far as pictures and searches have to know it again."""

STARTS = "starts"
STALLS = "stalls"
DIES = "dies"
SENDS = "sends the request"
PERFORMS = "performs the action"
AGAIN = "performs the action AGAIN"
FORGETS = "dies before it has remembered the key"
DURABLE = "holds a save: durable"
TORN = "holds a torn record"

ENDS = {
    "finished": "has finished the run",
    "stuck": "gives the run up",
    "crashed": DIES,
    "killed": "is killed",
    "fenced": "stops, refused",
    "": "fails",
}
"""How a worker ends, in words."""
