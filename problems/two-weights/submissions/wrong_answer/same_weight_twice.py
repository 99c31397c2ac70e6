n, parcel = map(int, input().split())
weights = list(map(int, input().split()))
known = {weight: position for position, weight in enumerate(weights, 1)}
for position, weight in enumerate(weights, 1):
    if parcel - weight in known:
        print(position, known[parcel - weight])
        break
else:
    print("impossible")
