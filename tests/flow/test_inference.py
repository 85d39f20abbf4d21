"""Mechanisms of the inference that the literate cases do not show one by one.

In the snippets `x` is on the model's device, since `forward` gets it, and what `torch.zeros` makes is on the CPU.
"""

from __future__ import annotations

import textwrap

from .snippets import facts_of, mixed


def forward(body: str) -> list[str]:
    """What stayed on the CPU in a `forward` with that body."""
    return mixed("class Net(nn.Module):\n    def forward(self, x: torch.Tensor, flag, batches):\n" + indented(body, 8))


def indented(body: str, by: int) -> str:
    return textwrap.indent(textwrap.dedent(body), " " * by)


def test_a_loop_is_run_twice_where_its_first_round_changes_something() -> None:
    assert forward("""
        state = None
        for batch in batches:
            if state is not None:
                x = x + state
            state = torch.zeros(3)
    """) == ["state"]


def test_a_flag_says_in_the_second_round_what_it_means() -> None:
    assert (
        forward("""
        first = True
        for batch in batches:
            if first:
                state = x
                first = False
            else:
                x = x + state
    """)
        == []
    )


def test_what_a_loop_leaves_is_what_either_round_may_have_left() -> None:
    assert (
        forward("""
        state = torch.zeros(3)
        for batch in batches:
            state = state.to(x.device)
        return x + state
    """)
        == []
    )


def test_break_and_continue_carry_their_values_out() -> None:
    assert forward("""
        state = x
        while flag:
            if flag.a:
                state = torch.zeros(3)
                break
            if flag.b:
                continue
        return x + state
    """) == ["state"]


def test_code_after_return_raise_and_break_is_not_run() -> None:
    assert (
        forward("""
        for batch in batches:
            break
            x + torch.zeros(1)
        if flag:
            raise ValueError(flag)
            x + torch.zeros(2)
        return x
        x + torch.zeros(3)
    """)
        == []
    )


def test_else_of_a_loop_is_run() -> None:
    assert forward("""
        for batch in batches:
            pass
        else:
            y = torch.zeros(3)
        return x + y
    """) == ["y"]


def test_arms_of_one_test_are_never_mixed() -> None:
    assert (
        forward("""
        if flag:
            a, b = x, x
        else:
            a, b = torch.zeros(3), torch.zeros(3)
        return (a + b).sum()
    """)
        == []
    )


def test_arms_of_two_tests_are() -> None:
    assert sorted(
        forward("""
        a = x if flag.a else torch.zeros(3)
        b = x if flag.b else torch.ones(3)
        return a + b
    """)
    ) == ["a", "b"]


def test_the_same_test_later_settles_the_choice() -> None:
    assert (
        forward("""
        if flag:
            a = torch.zeros(3)
        else:
            a = x
        if flag:
            return a.to(x.device)
        return a + x
    """)
        == []
    )


def test_a_negated_test_is_the_same_test() -> None:
    assert (
        forward("""
        a = x if flag else torch.zeros(3)
        if not flag:
            a = a.to(x.device)
        return a + x
    """)
        == []
    )


def test_nested_guards_count_as_one_that_holds() -> None:
    assert (
        forward("""
        a = torch.zeros(3)
        if flag:
            if torch.cuda.is_available():
                a = a.cuda()
            elif flag.other:
                return x + a
        else:
            a = x
        return x + a
    """)
        == []
    )


def test_what_runs_without_an_accelerator_only_is_not_reported() -> None:
    assert forward("""
        if not torch.cuda.is_available():
            if flag:
                return x + torch.zeros(3)
            for batch in batches:
                x = x + torch.zeros(3)
        return x + torch.ones(3)
    """) == ["torch.ones(3)"]


def test_an_early_return_without_an_accelerator_leaves_the_rest() -> None:
    assert forward("""
        if not torch.cuda.is_available():
            return x
        return x + torch.zeros(3)
    """) == ["torch.zeros(3)"]


def test_one_function_is_followed_for_each_kind_of_argument() -> None:
    assert mixed("""
        def shift(a, b):
            return a + b

        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                ours = torch.zeros(3)
                return shift(x, x) + shift(shift(x, x), ours) + shift(ours, ours).to(x.device)
    """) == ["b"]


def test_a_call_is_remembered_with_its_arguments() -> None:
    """The second call with the same arguments gives what the first one gave, the third something else."""
    assert mixed("""
        def same(a):
            return a

        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                a = same(x)
                b = same(x)
                c = same(torch.zeros(3))
                return a + b + c
    """) == ["c"]


def test_recursion_ends() -> None:
    assert mixed("""
        def power(x, n):
            if n == 0:
                return torch.ones(3)
            return x * power(x, n - 1)

        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                return power(x, 3) + torch.zeros(3)
    """) in (["torch.zeros(3)"], [])


def test_mutual_recursion_ends() -> None:
    assert (
        mixed("""
        def even(x, n):
            return x if n == 0 else odd(x, n - 1)

        def odd(x, n):
            return torch.zeros(3) if n == 0 else even(x, n - 1)

        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                return self.forward(even(x, 4)) + odd(x, 4)
    """)
        == []
    )


def test_a_chain_that_is_deeper_than_calls_are_followed_is_unknown() -> None:
    chain = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n" for n in range(12)) + "def f12(x):\n    return x\n"
    net = "class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return x + f{}(torch.zeros(3))\n"
    assert mixed(chain + net.format(9)) == ["f9(torch.zeros(3))"]
    assert mixed(chain + net.format(0)) == []


def test_functions_that_call_each_other_do_not_multiply() -> None:
    functions = "".join(
        f"def f{n}(x):\n    y = f{n * 7 % 2000}(x)\n    return f{(n + 1) % 2000}(y) + torch.zeros({n})\n"
        for n in range(2000)
    )
    net = "class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return x + torch.zeros(3)\n"
    assert "torch.zeros(3)" in mixed(net + functions)


def test_an_unknown_decorator_makes_a_result_unknown() -> None:
    code = """
        {decorator}
        def make(n):
            return torch.zeros(n)

        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                return x + make(3)
    """
    assert mixed(code.format(decorator="@torch.no_grad()")) == ["make(3)"]
    assert mixed(code.format(decorator="@functools.lru_cache")) == ["make(3)"]
    assert mixed(code.format(decorator="@on_device")) == []
    assert mixed(code.format(decorator="@library.on(device)[0]")) == []


def test_a_decorator_of_the_file_is_run() -> None:
    assert mixed("""
        def register(function):
            table = torch.zeros(3) + torch.zeros(3, device="cuda")
            return function

        @register
        def f(x):
            return x
    """) == ["torch.zeros(3)"]


def test_a_function_sees_names_of_the_module_that_come_later() -> None:
    assert mixed("""
        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                return x + OFFSET + make()

        def make():
            return ZERO.to("cuda")

        OFFSET = torch.zeros(3)
        ZERO = torch.zeros(3)
    """) == ["OFFSET"]


def test_a_closure_sees_the_names_around_it() -> None:
    assert forward("""
        shift = torch.zeros(3)
        def inner(y):
            def innermost():
                return y + shift
            return innermost()
        return inner(x)
    """) == ["shift"]


def test_a_closure_sees_the_names_as_they_are_when_it_is_called() -> None:
    assert (
        forward("""
        shift = torch.zeros(3)
        def inner(y):
            return y + shift
        shift = shift.to(x.device)
        return inner(x)
    """)
        == []
    )


def test_global_binds_the_name_of_the_module() -> None:
    assert mixed("""
        SHIFT = None

        def prepare():
            global SHIFT
            SHIFT = torch.zeros(3)

        prepare()

        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                return x + SHIFT
    """) == ["SHIFT"]


def test_nonlocal_leaves_nothing_known_of_the_name() -> None:
    assert (
        forward("""
        shift = torch.zeros(3)
        def move():
            nonlocal shift
            shift = shift.to(x.device)
        move()
        return x + shift
    """)
        == []
    )


def test_attributes_and_methods_come_from_bases_of_the_file() -> None:
    assert mixed("""
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.shift = torch.zeros(3)
                self.register_buffer("scale", torch.ones(3))

            def make(self):
                return torch.zeros(4)

        class Middle(Base):
            def make(self):
                return super().make()

        class Net(Middle):
            def forward(self, x: torch.Tensor):
                return self.scale * x + self.make()
    """) == ["self.make()"]


def test_an_override_hides_the_method_of_the_base() -> None:
    assert mixed("""
        class Base(nn.Module):
            def forward(self, x: torch.Tensor):
                return x + self.make(x)

            def make(self, x):
                return torch.zeros(3)

        class Net(Base):
            def make(self, x):
                return torch.zeros(3, device=x.device)
    """) == ["self.make(x)"], "the base alone is wrong"


def test_a_class_nested_in_a_class_or_function_is_looked_at() -> None:
    assert mixed("""
        class Outer:
            class Inner(nn.Module):
                def forward(self, x: torch.Tensor):
                    return x + torch.zeros(3)

        def build():
            class Local(nn.Module):
                def forward(self, x: torch.Tensor):
                    return x + torch.ones(3)
            return Local()
    """) == ["torch.zeros(3)", "torch.ones(3)"]


def test_stars_in_calls_and_parameters() -> None:
    assert forward("""
        def add(*terms, **named):
            return terms[0] + terms[1] + named["last"]
        pair = (x, torch.zeros(3))
        add(*pair, last=x)
        add(x, x, last=torch.ones(3))
        add(*batches, last=torch.ones(4))
    """) == ["terms[1]", 'named["last"]']


def test_defaults_and_keywords_of_parameters() -> None:
    assert mixed("""
        def scale(x, /, by=torch.ones(3), *, shift=None, **rest):
            if shift is None:
                shift = torch.zeros(3)
            return x * by + shift

        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                return scale(x, x, shift=x), scale(x, by=x), scale(x, shift=x)
    """) == ["by", "shift"]


def test_properties_are_called_where_they_are_read() -> None:
    assert mixed("""
        class Net(nn.Module):
            @property
            def shift(self):
                return torch.zeros(3)

            @shift.setter
            def shift_too(self, value):
                pass

            def forward(self, x: torch.Tensor):
                return x + self.shift
    """) == ["self.shift"]


def test_static_and_class_methods_are_bound_as_python_binds_them() -> None:
    assert mixed("""
        class Net(nn.Module):
            @staticmethod
            def add(a, b):
                return a + b

            @classmethod
            def make(cls, n):
                return torch.zeros(n)

            def forward(self, x: torch.Tensor):
                return self.add(x, Net.make(3)) + Net.add(x, x)
    """) == ["b"]


def test_a_walrus_binds_its_name() -> None:
    assert forward("""
        if (shift := torch.zeros(3)).sum() > 0:
            return x + shift
    """) == ["shift"]


def test_a_walrus_in_a_comprehension_binds_outside() -> None:
    assert (
        forward("""
        last = torch.zeros(3)
        moved = [last := each.to(x.device) for each in batches]
        return x + last
    """)
        == []
    )


def test_names_of_a_comprehension_stay_inside() -> None:
    assert (
        forward("""
        each = x
        kept = [each for each in [torch.zeros(3)]]
        named = {each: 1 for each in kept}
        lazily = (each for each in kept)
        return x + each
    """)
        == []
    )


def test_comprehensions_give_what_their_element_is() -> None:
    assert forward("""
        states = [torch.zeros(3) for _ in batches]
        named = {key: torch.ones(3) for key in batches}
        pairs = [(x, torch.rand(3)) for _ in batches]
        (x + states[0], x + named["a"])
        for one, other in pairs:
            one + other
    """) == ["states[0]", 'named["a"]', "other"]


def test_lambdas_are_functions() -> None:
    assert forward("""
        add = lambda a, b=torch.zeros(3): a + b
        return add(x) + add(x, x)
    """) == ["b"]


def test_generators_give_what_they_yield() -> None:
    assert mixed("""
        def steps(n):
            for _ in range(n):
                yield torch.zeros(3)

        def more(n):
            yield from steps(n)

        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                for step in more(3):
                    x = x + step
                return x
    """) == ["step"]


def test_coroutines_are_looked_at_like_functions() -> None:
    assert mixed("""
        async def make():
            return torch.zeros(3)

        class Net(nn.Module):
            async def forward(self, x: torch.Tensor):
                async with lock() as held:
                    shift = await make()
                async for each in source():
                    x = x + shift
                return [y async for y in source()]
    """) == ["shift"]


def test_a_name_bound_in_one_case_of_a_match_is_what_either_left() -> None:
    assert forward("""
        shift = x
        match flag:
            case {"kind": 1, **rest}:
                shift = torch.zeros(3)
            case [first, *others] | (first, others) if others:
                shift = first
            case str() as shift:
                pass
            case _:
                pass
        return x + shift
    """) == ["shift"]


def test_try_joins_what_was_done_with_what_was_not() -> None:
    assert forward("""
        shift = torch.zeros(3)
        try:
            shift = shift.to(x.device)
        except RuntimeError as error:
            other = torch.ones(3)
        else:
            other = x
        finally:
            last = torch.rand(3)
        return x + shift, x + other, x + last
    """) == ["other", "last"]


def test_finally_is_run_after_a_return() -> None:
    assert forward("""
        try:
            return x
        finally:
            x + torch.zeros(3)
    """) == ["torch.zeros(3)"]


def test_what_an_f_string_holds_is_evaluated() -> None:
    """Each of its parts, at the place of the whole."""
    text = """f"{x + torch.zeros(3)!r:>{10}} and {f'{x + torch.ones(3)}'}\""""
    assert forward(f"print({text})") == [text, text]


def test_starred_targets_take_what_is_left() -> None:
    assert forward("""
        first, *rest = [x, torch.zeros(3), torch.zeros(3)]
        (a, [b, *c]), d = (x, [torch.ones(3), x]), x
        return x + first + a + d + b
    """) == ["b"]


def test_augmented_assignment_to_a_name_an_attribute_and_an_item() -> None:
    assert forward("""
        x += torch.zeros(1)
        self.total = x
        self.total += torch.zeros(2)
        sums = {"loss": x}
        sums["loss"] += torch.zeros(4)
        sums["loss"] @= torch.zeros(5)
    """) == ["torch.zeros(1)", "torch.zeros(2)", "torch.zeros(4)", "torch.zeros(5)"]


def test_deleted_names_and_attributes_are_forgotten() -> None:
    assert (
        forward("""
        shift = torch.zeros(3)
        self.shift = shift
        del shift, self.shift
        return x + shift
    """)
        == []
    )


def test_an_attribute_is_what_was_assigned_last_on_the_path() -> None:
    assert forward("""
        self.state = torch.zeros(3)
        a = x + self.state
        self.state = self.state.to(x.device)
        return x + self.state
    """) == ["self.state"]


def test_facts_come_in_the_order_of_the_source_and_every_time_the_same() -> None:
    code = "class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n" + "".join(
        f"        x + torch.zeros({n}); x + torch.ones({n})\n" for n in range(1, 21)
    )
    once, again = facts_of(code), facts_of(code)
    assert once == again
    assert len(once) == 40
    assert [fact.at for fact in once] == sorted(fact.at for fact in once)
