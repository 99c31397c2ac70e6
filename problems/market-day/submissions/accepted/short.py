input()
paid = list(map(int, input().split()))
print(sum(paid), max(paid))
