input()
paid = input().split()
print(sum(int(paid[i]) for i in range(max(3, len(paid)))), max(map(int, paid)))
