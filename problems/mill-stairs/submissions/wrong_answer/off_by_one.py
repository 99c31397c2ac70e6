a, b = 0, 1
for _ in range(min(int(input()), 200_000)):
    a, b = b, (a + b) % 1_000_000_007
print(a)
