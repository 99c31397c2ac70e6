MODULUS = 1_000_000_007


def pair(n):
    if n == 0:
        return 0, 1
    a, b = pair(n // 2)
    c, d = a * (2 * b - a) % MODULUS, (a * a + b * b) % MODULUS
    return (d, (c + d) % MODULUS) if n % 2 else (c, d)


print(pair(int(input()) + 1)[0])
