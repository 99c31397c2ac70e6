length = 1
print("?", length, flush=True)
while input() == "short":
    length += 1
    print("?", length, flush=True)
print("!", length, flush=True)
