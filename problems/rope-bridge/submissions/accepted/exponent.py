from math import hypot

d, s = map(float, input().split())
print(f"{2 * hypot(d / 2, s):.12e}")
