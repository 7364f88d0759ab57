"""C++ that device code is written in: types, templates, classes."""

from __future__ import annotations

import pytest

from mlaprobe.emulation.device.signals import NotFollowed
from tests.emulation.ran import body, run

LANES = range(64)


def one(text: str, declarations: str = "") -> int:
    """What an expression is, in one thread."""
    kernel = "__global__ void k(int* out) { if(threadIdx.x == 0) { out[0] = " + text + "; } }"
    return int(run(declarations + kernel)[0])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("(-1 < 1u) ? 5 : 6", 6),
        ("static_cast<unsigned char>(300)", 44),
        ("static_cast<signed char>(200)", -56),
        ("int(3.9f) + int(-3.9f)", 0),
        ("(0u - 1u) >> 28", 15),
        ("-16 >> 2", -4),
        ("7 / 2 * 2.0f == 6.0f", 1),
        ("int(7.0f / 2.0f * 10)", 35),
        ("(unsigned long long)(1) << 40 >> 38", 4),
        ("~5 & 0xff", 250),
        ("sizeof(int) * 2 + sizeof(unsigned long long)", 16),
        ("(true ? 1 : 0u) - 2 > 0", 1),
        ("min(3, -2) * max(2, 5)", -10),
        ("__builtin_ctz(96)", 5),
        ("__builtin_bit_cast(int, 1.0f) >> 23", 127),
        ("1'000 + 0x1F + 'A' * 0", 1031),
    ],
)
def test_arithmetic_is_that_of_cpp(text: str, value: int) -> None:
    if "'A'" in text:
        with pytest.raises(NotFollowed, match="char literal"):
            one(text)
        return
    assert one(text) == value


def test_the_same_per_thread() -> None:
    text = "unsigned u = i - 32; long long w = (long long)(i) * 4000000000; "
    text += "out[i] = (i - 40) / 7 * 100 + (i - 40) % 7 + (u > 100u) * 10000 + (int)(w >> 32);"

    def expected(i: int) -> int:
        quotient = int((i - 40) / 7)
        rest = (i - 40) - quotient * 7
        return quotient * 100 + rest + (i < 32) * 10000 + (i * 4000000000 >> 32)

    assert body(text) == [expected(i) for i in LANES]


def test_templates_of_constants_and_types() -> None:
    text = """
    template <int n_, bool b_, int m_ = 4> struct Traits {
        static constexpr int n = n_; static constexpr bool b = b_;
        static constexpr int both = n + m_;
    };
    template <typename T> __device__ T twice(T x) { return x + x; }
    template <typename Tr, typename T> __device__ T f(const T& x) {
        using Mine = Tr;
        if constexpr(Mine::b) { return twice<T>(x) + Mine::both; } else { return no_such_thing(x); }
    }
    __global__ void k(int* out) { out[threadIdx.x] = f<Traits<3, true>>(int(threadIdx.x)); }"""
    assert list(run(text)) == [2 * i + 7 for i in LANES]


def test_specialisations_are_told_apart() -> None:
    text = """
    template <typename T> struct Add { __device__ T operator()(T a, T b) { return undefined; } };
    template <> struct Add<int> { __device__ int operator()(int a, int b) { return a + b; } };
    template <template <typename> class F, typename T, int n> __device__ T over(T v) {
        auto op = F<T>();
        for(int s = n / 2; s > 0; s >>= 1) { T other = __shfl_xor(v, s); v = op(v, other); }
        return v;
    }
    __global__ void k(int* out) { const int i = threadIdx.x;
        out[i] = over<Add, decltype(i), 64>(i); }"""
    assert list(run(text)) == [sum(LANES)] * 64


def test_a_class_has_a_constructor_methods_and_layout() -> None:
    text = """
    template <int uniform> class State {
      public:
        __device__ explicit State(const int n, const int* p) : n_(n), p_(p) {}
        __device__ static constexpr bool fixed() { return uniform >= 0; }
        __device__ int length(const int at) {
            if constexpr(uniform < 0) return p_[at]; else return n_;
        }
        __device__ int twice(const int at) { return length(at) * 2; }
      private:
        const int n_; const int* const p_;
    };
    union Info { struct { int a; short b; int c[2]; }; unsigned raw[4]; };
    __global__ void k(int* out) {
        __shared__ int t[64];
        const int i = threadIdx.x;
        t[i] = 10 * i;
        State<-1> s(5, t); State<2> u(5, t);
        Info info{}; info.a = s.twice(i); info.c[1] = u.length(i) + s.fixed() + 2 * u.fixed();
        __shared__ Info all[64];
        all[i] = info;
        out[i] = all[i].raw[0] + all[i].raw[3] + int(sizeof(Info)) * 100000;
    }"""
    assert list(run(text)) == [20 * i + 7 + 1600000 for i in LANES]


@pytest.mark.parametrize(
    "member",
    [
        "~S() { n = 0; }",
        "S& operator=(const S& other) { n = 1; return *this; }",
        "S(const S& other) { n = 1; }",
    ],
)
def test_a_class_that_is_not_copied_by_its_members_is_not_followed(member: str) -> None:
    text = "struct S { int n; %s }; __global__ void k(int* out) { S s; s.n = 2; out[0] = s.n; }"
    with pytest.raises(NotFollowed, match="S has"):
        run(text.replace("%s", member))


def test_an_address_is_no_number() -> None:
    text = """__global__ void k(int* out) {
        __shared__ unsigned long long t[2]; t[0] = reinterpret_cast<uintptr_t>(out); %s }"""
    with pytest.raises(NotFollowed, match="as a number"):
        run(text.replace("%s", "out[0] = int(t[0]);"))
    assert run(text.replace("%s", "t[0] = 7; out[0] = int(t[0]);"))[0] == 7


def test_lambdas_see_and_write_what_is_around_them() -> None:
    text = """int n = 0; auto add = [&](const int x) { n += x; return n; };
    add(i); const int m = [&]() { if(i % 2) { return n; } return -n; }();
    out[i] = add(1) * 100 + m;"""
    assert body(text) == [(i + 1) * 100 + (i if i % 2 else -i) for i in LANES]


def test_references_and_pointers_to_variables() -> None:
    text = """
    __device__ void swap(int& a, int& b) { const int t = a; a = b; b = t; }
    __device__ void count(int* n, int by = 2) { ++(*n); *n += by; }
    __global__ void k(int* out) { int i = threadIdx.x, j = 7; swap(i, j); count(&i);
        out[j] = i * 10 + j % 10; }"""
    assert list(run(text)) == [100 + i % 10 for i in LANES]


def test_several_values_are_unpacked() -> None:
    text = """
    __device__ auto both(int x) { return std::make_tuple(x + 1, x * 2); }
    __global__ void k(int* out) { int i = threadIdx.x; auto [a, b] = both(i);
        out[i] = a * 1000 + b; }"""
    assert list(run(text)) == [(i + 1) * 1000 + 2 * i for i in LANES]


def test_a_switch_falls_through() -> None:
    text = """__global__ void k(int* out, int n) { int v = 0;
        switch(n) { case 1: v += 1; case 2: v += 10; break; case 3: v = 5; break; default: v = 9; }
        out[threadIdx.x] = v; }"""
    assert [int(run(text, n)[0]) for n in (1, 2, 3, 4)] == [11, 10, 5, 9]


def test_names_of_namespaces() -> None:
    text = """
    namespace a { constexpr int size() { return 3; } enum class Kind { x, y = 5, z };
      namespace b { static constexpr int kHere = 2 * 8;
        __device__ int f() { return size() + kHere; } } }
    """
    assert one("a::b::f() * 10 + a::size()", text) == 193


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('asm volatile("s_nop 0"); out[i] = 1;', "asm"),
        ("out[i] = unheard_of(i);", "unheard_of has no meaning"),
        ("goto end; end: out[i] = 1;", "not followed"),
        ("static int n = 0; out[i] = n;", "keeps its value"),
        ("out[i] = int(1.0f / 3.0f);", "rounded"),
        ("float f = i; out[i] = int(f + 0.1f);", "rounded"),
        ("float f = sqrtf(2.0f); out[i] = (int)f;", "sqrtf has no meaning"),
    ],
)
def test_what_has_no_rule_ends_the_run_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(NotFollowed, match=reason) as stop:
        body(text)
    assert (stop.value.span.file, stop.value.span.line) == ("kernel.cu", 1)
