n = int(input())
for row in [*range(1, n + 1), *range(n - 1, 0, -1)]:
    print(" ".join("X" + "o" * (row - 1)))
