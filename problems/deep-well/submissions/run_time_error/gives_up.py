print("?", 1_000_000, flush=True)
assert input() == "reaches"
raise SystemExit("I do not know how to go on.")
