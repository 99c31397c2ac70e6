let [a, b] = [0n, 1n]
for (;;) [a, b] = [b, (a + b) % 1000000007n]
