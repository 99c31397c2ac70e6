d, s = map(int, input().split())
print(2 * ((d / 2) ** 2 + s**2) ** 0.5)
