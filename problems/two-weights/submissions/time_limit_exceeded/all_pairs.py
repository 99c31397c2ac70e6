n, parcel = map(int, input().split())
weights = list(map(int, input().split()))
for i in range(n):
    for j in range(i):
        if weights[i] + weights[j] == parcel:
            print(i + 1, j + 1)
            raise SystemExit
print("impossible")
