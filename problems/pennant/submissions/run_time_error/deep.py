def draw(row):
    print("X")
    draw(row + 1)


draw(1)
