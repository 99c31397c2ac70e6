low, high = 1, 1_000_000
while low < high:
    middle = (low + high) // 2
    print("?", middle, flush=True)
    if input() == "reaches":
        high = middle
    else:
        low = middle + 1
print("!", low, flush=True)
