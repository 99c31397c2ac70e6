n, parcel = map(int, input().split())
seen = {}
for position, weight in enumerate(map(int, input().split()), 1):
    if parcel - weight in seen:
        print(position, seen[parcel - weight])
        break
    seen[weight] = position
else:
    print("impossible")
