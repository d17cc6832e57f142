"""Losses of networks against a plain loop with autograd, and against the authors' procedure."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from shortlist.models import perturbed
from shortlist.models.perturbed import Ascent, module_losses, perturbed_losses
from shortlist.types import ShortlistError

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

PER: list[Ascent] = ["item", "batch"]
each_ascent = pytest.mark.parametrize("per", PER)


def mlp() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(2 * 6 * 6, 16), nn.Tanh(), nn.Dropout(0.5), nn.Linear(16, 4)).double()


def conv() -> Any:
    """With normalisation that has seen some batches, and a trained scale."""
    torch.manual_seed(1)
    net = nn.Sequential(
        *(nn.Conv2d(2, 5, 3), nn.BatchNorm2d(5), nn.ReLU(inplace=True), nn.Conv2d(5, 6, 3, stride=2)),
        *(nn.BatchNorm2d(6), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4)),
    ).double()
    nn.init.uniform_(net[1].weight)
    for _ in range(3):
        net(images(20))
    return net


def images(n: int = 13) -> Any:
    return torch.from_numpy(np.random.default_rng(2).standard_normal((n, 2, 6, 6)))


each_net = pytest.mark.parametrize("net", [mlp, conv], ids=["mlp", "conv"])


def authors(net: Any, batch: Any, rho: float = 0.05) -> Any:
    """(b,) as the authors do it: backward, move the parameters in place, look again. Without their accumulation."""
    net = copy.deepcopy(net).eval()
    with torch.no_grad():
        pseudo = net(batch).argmax(dim=1)
    F.cross_entropy(net(batch), pseudo).backward()
    moving = [p for p in net.parameters() if p.grad is not None]
    norm = torch.linalg.norm(torch.stack([(p.abs() * p.grad).norm() for p in moving]))
    with torch.no_grad():
        for p in moving:
            p.add_(p.square() * p.grad * (rho / norm))
        return F.cross_entropy(net(batch), pseudo, reduction="none")


def same(losses: Any, others: Any) -> None:
    np.testing.assert_allclose(losses.numpy(), others.numpy(), rtol=1e-8, atol=1e-12)


@each_net
@pytest.mark.parametrize("rho", [0.05, 1.0])
def test_a_step_for_each_item_is_a_loop_over_items(net: Any, rho: float) -> None:
    module, batch = net(), images()
    same(module_losses(module, batch, rho=rho), torch.cat([authors(module, x[None], rho) for x in batch]))


@each_net
@pytest.mark.parametrize("rho", [0.05, 1.0])
def test_a_step_for_the_batch_is_the_authors(net: Any, rho: float) -> None:
    module, batch = net(), images()
    same(module_losses(module, batch, rho=rho, per="batch"), authors(module, batch, rho))


@each_net
def test_a_batch_of_one_is_an_item(net: Any) -> None:
    module, batch = net(), images()
    alone = torch.cat([module_losses(module, x[None], per="batch") for x in batch])
    same(module_losses(module, batch), alone)


@each_net
def test_how_many_items_are_held_at_once_makes_no_difference(net: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module, batch = net(), images()
    whole = module_losses(module, batch)
    monkeypatch.setattr(perturbed, "TOGETHER", 5)
    same(module_losses(module, batch), whole)
    monkeypatch.setattr(perturbed, "HELD", 1)
    same(module_losses(module, batch), whole)


@each_ascent
@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_linear_module_is_softmax_regression(per: Ascent, n_classes: int) -> None:
    torch.manual_seed(3)
    line, inputs = nn.Linear(7, n_classes).double(), torch.randn(30, 7, dtype=torch.float64)
    weights, intercepts = (p.detach().numpy() for p in (line.weight, line.bias))
    closed = perturbed_losses(weights, intercepts, inputs.numpy(), per=per)
    np.testing.assert_allclose(module_losses(line, inputs, per=per).numpy(), closed, atol=1e-8, rtol=1e-8)


class Counting(nn.Module):  # type: ignore[misc, name-defined]
    """Writes into a buffer whenever it is called, in whatever mode."""

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(72, 4).double()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return self.line(x.flatten(1))


@each_ascent
@pytest.mark.parametrize("net", [mlp, conv, Counting], ids=["mlp", "conv", "counting"])
def test_the_module_is_left_bit_for_bit_as_it_was(per: Ascent, net: Any) -> None:
    module = net().train()
    first = next(iter(module.children()))
    first.eval()  # a part that somebody holds still
    before = {name: value.clone() for name, value in module.state_dict().items()}
    pointers = [p.data_ptr() for p in module.parameters()]
    grads = [torch.full_like(p, 3.0) for p in module.parameters()]
    for p, g in zip(module.parameters(), grads, strict=True):
        p.grad = g.clone()
    modes = [part.training for part in module.modules()]
    losses = module_losses(module, images(), per=per)
    assert not losses.requires_grad
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert [p.data_ptr() for p in module.parameters()] == pointers
    assert all(torch.equal(p.grad, g) and p.requires_grad for p, g in zip(module.parameters(), grads, strict=True))
    assert [part.training for part in module.modules()] == modes
    assert True in modes


@each_ascent
def test_it_is_left_as_it_was_even_after_an_error(per: Ascent) -> None:
    module = mlp().train()
    with pytest.raises(RuntimeError):
        module_losses(module, torch.zeros(3, 5), per=per)
    assert all(part.training for part in module.modules())


@each_ascent
@each_net
def test_the_same_again_and_nothing_adds_up(per: Ascent, net: Any) -> None:
    module, batch = net(), images()
    first = module_losses(module, batch, per=per)
    module_losses(module, images(3), per=per)
    assert torch.equal(module_losses(module, batch, per=per), first)


@each_ascent
def test_parameters_that_are_not_trained_do_not_move(per: Ascent) -> None:
    module, batch = conv(), images()
    for p in module[:-1].parameters():
        p.requires_grad_(False)
    features, head = module.eval()[:-1](batch).numpy(), module[-1]
    weights, intercepts = (p.detach().numpy() for p in (head.weight, head.bias))
    closed = perturbed_losses(weights, intercepts, features, per=per)
    np.testing.assert_allclose(module_losses(module, batch, per=per).numpy(), closed, rtol=1e-8)
    with pytest.raises(ShortlistError, match="Sequential has no perturbed loss: none of its parameters is trained"):
        module_losses(module.requires_grad_(False), batch, per=per)


@each_ascent
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1e2, 1e4, 1e15])
def test_sure_items_and_large_logits_are_no_trouble(per: Ascent, dtype: Any, scale: float) -> None:
    module = mlp().to(dtype)
    with torch.no_grad():
        module[-1].weight.mul_(scale)
    losses = module_losses(module, images().to(dtype), per=per)
    assert bool(torch.isfinite(losses).all())
    assert bool((losses >= 0).all())


@each_ascent
def test_where_nothing_moves_the_loss_stays(per: Ascent) -> None:
    line = nn.Linear(7, 5)
    nn.init.zeros_(line.weight)
    nn.init.zeros_(line.bias)
    np.testing.assert_allclose(module_losses(line, torch.randn(3, 7), per=per).numpy(), np.log(5), rtol=1e-6)


@each_ascent
def test_one_class_and_no_items(per: Ascent) -> None:
    assert module_losses(nn.Linear(7, 1), torch.randn(3, 7), per=per).tolist() == [0, 0, 0]
    assert module_losses(conv(), images(0), per=per).shape == (0,)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@each_ascent
@each_net
def test_a_gpu_says_the_same(per: Ascent, net: Any) -> None:
    module, batch = net(), images(300)
    host = module_losses(module, batch, per=per)
    there = module_losses(module.cuda(), batch.cuda(), per=per)
    assert there.device.type == "cuda"
    same(there.cpu(), host)
