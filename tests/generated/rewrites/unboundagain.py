"""Variables that may have no value, because of what decides or what is deleted."""

UNBOUND_AGAIN = {
    "set after a look-up that may fail": """
T = {16: 1, 32: 2}
def native(heads, qlen):
    try:
        x = T[heads]
        n = 1
    except KeyError:
        pass
    return n
""",
    "set before and after": """
T = {16: 1, 32: 2}
def native(heads, qlen):
    try:
        n = 1
        x = T[heads]
        n = 2
    except KeyError:
        pass
    return n
""",
    "deleted in a loop": """
def native(heads, qlen):
    n = 1
    for i in range(qlen):
        del n
    return 0
""",
    "deleted in a loop and read": """
def native(heads, qlen):
    n = 1
    for i in range(heads % 3):
        del n
        n = i
    return n
""",
    "deleted where unknown": """
def native(heads, qlen):
    n = 1
    if heads > qlen * 20:
        del n
    return n
""",
    "set in a while": """
def native(heads, qlen):
    while qlen > 2:
        n = 1
        break
    return n
""",
    "set in a while's else": """
def native(heads, qlen):
    k = qlen
    while k > 1:
        k -= 1
        if k == heads:
            break
    else:
        n = 5
    return n
""",
    "for else": """
def native(heads, qlen):
    for h in (16, 32):
        if h == heads:
            break
    else:
        n = 5
    return n
""",
    "set in a matched case": """
def native(heads, qlen):
    match heads:
        case 16:
            n = 1
        case 32 | 64:
            n = 2
    return n
""",
    "captured in a case that fails": """
def native(heads, qlen):
    match (heads, qlen):
        case (a, 2) if a > 16:
            pass
    return a
""",
    "set by and": """
def native(heads, qlen):
    heads == 16 and (n := 3)
    return n
""",
    "set by or": """
def native(heads, qlen):
    heads == 16 or (n := 3)
    return n
""",
    "set by a conditional": """
def native(heads, qlen):
    x = (n := 3) if heads == 16 else 0
    return n
""",
    "set in a comparison chain": """
def native(heads, qlen):
    1 < heads < 20 < (n := 40)
    return n
""",
    "set in a with that suppresses": """
from contextlib import suppress
T = {16: 1, 32: 2}
def native(heads, qlen):
    with suppress(KeyError):
        x = T[heads]
        n = 1
    return n
""",
    "set in finally": """
T = {16: 1, 32: 2}
def native(heads, qlen):
    try:
        x = T[heads]
    except KeyError:
        x = 0
    finally:
        n = 1
    return n
""",
    "set in else of try": """
T = {16: 1, 32: 2}
def native(heads, qlen):
    try:
        x = T[heads]
    except KeyError:
        x = 0
    else:
        n = 1
    return n
""",
    "read in a nested function later": """
def native(heads, qlen):
    def f():
        return n
    if qlen > 1:
        n = heads
    return f()
""",
    "read in an empty comprehension": """
def native(heads, qlen):
    if qlen > 1:
        n = heads
    return [n for _ in range(0)]
""",
    "read in a lambda that is not called": """
def native(heads, qlen):
    if qlen > 1:
        n = heads
    f = lambda: n
    return 1
""",
    "argument deleted": """
def native(heads, qlen):
    if qlen == 2:
        del heads
    return heads
""",
    "deleted twice": """
def native(heads, qlen):
    n = 1
    del n
    try:
        del n
    except NameError:
        return 'e'
    return 1
""",
    "deleted never set": """
def native(heads, qlen):
    if heads == 16:
        n = 1
    del n
    return 1
""",
    "augmented never set": """
def native(heads, qlen):
    if heads == 16:
        n = 1
    n += qlen
    return n
""",
    "unpacked in part": """
def native(heads, qlen):
    try:
        a, b = (heads,) if qlen == 1 else (heads, 2)
    except ValueError:
        pass
    return a
""",
    "starred in part": """
T = {16: 1, 32: 2}
def native(heads, qlen):
    try:
        a, *b = T[heads], 1
    except KeyError:
        b = 0
    return b
""",
    "handler's name used again": """
T = {16: 1, 32: 2}
def native(heads, qlen):
    for i in range(2):
        try:
            T[heads]
        except KeyError as e:
            pass
    try:
        return e is None
    except NameError:
        return -1
""",
    "handler's name reassigned": """
T = {16: 1, 32: 2}
def native(heads, qlen):
    try:
        T[heads]
    except KeyError as e:
        e = 5
    try:
        return e
    except NameError:
        return -1
""",
    "handler's name deleted inside": """
T = {16: 1, 32: 2}
def native(heads, qlen):
    try:
        T[heads]
    except KeyError as e:
        del e
    return 1
""",
    "handler returns its name": """
T = {16: 1, 32: 2}
def native(heads, qlen):
    try:
        return T[heads]
    except KeyError as e:
        f = lambda: e
        return 1
""",
    "handler's name in a closure": """
T = {16: 1, 32: 2}
def native(heads, qlen):
    f = None
    try:
        T[heads]
    except KeyError as e:
        f = lambda: e
    if f is None:
        return 0
    try:
        f()
        return 1
    except NameError:
        return 2
""",
    "handler raises and outer reads": """
T = {16: 1, 32: 2}
def native(heads, qlen):
    try:
        try:
            T[heads]
        except KeyError as e:
            raise ValueError
    except ValueError:
        pass
    try:
        e
        return 1
    except NameError:
        return 2
""",
    "deleted in a comprehension's function": """
def native(heads, qlen):
    n = 1
    r = [n for _ in range(qlen)]
    del n
    return r
""",
    "deleted in try": """
T = {16: 1}
def native(heads, qlen):
    n = 1
    try:
        del n
        T[heads]
    except KeyError:
        n = 2
    return n
""",
    "del in a while": """
def native(heads, qlen):
    n = 1
    while True:
        try:
            del n
        except NameError:
            break
    return 5
""",
    "made and deleted in a loop": """
def native(heads, qlen):
    s = 0
    for i in range(qlen):
        t = i * 2
        s += t
        del t
    return s
""",
    "deleted in an open while": """
def native(heads, qlen):
    n = 1
    while qlen > 1:
        del n
        qlen -= 1
    return 0
""",
}
