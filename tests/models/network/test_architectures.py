from __future__ import annotations

import pytest

from shortlist.types import ShortlistError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from shortlist.models.network.architectures import architecture, backbone  # noqa: E402 - it needs both


@pytest.mark.parametrize(
    ("name", "width", "parameters"), [("efficientnet-b3", 1536, 10_696_232), ("vit-s16", 384, 21_665_664)]
)
def test_they_are_the_networks_of_their_papers(name: str, width: int, parameters: int) -> None:
    """As many parameters as the reference implementations have without their heads."""
    net = backbone(name, 7).eval()
    assert sum(p.numel() for p in net.body.parameters()) == parameters
    assert net.head.weight.shape == (7, width)
    images = torch.randn(2, 3, 64, 96)  # of no particular size
    with torch.no_grad():
        embeddings = net.embed(images)
        assert embeddings.shape == (2, width)
        torch.testing.assert_close(net(images), net.head(embeddings))


@pytest.mark.parametrize("name", ["efficientnet-b3", "vit-s16"])
def test_from_scratch_an_image_gets_through(name: str) -> None:
    """With the scales that transformers draws, signal and gradient of EfficientNet would be gone after some blocks."""
    torch.manual_seed(0)
    net = backbone(name, 5).train()
    images = torch.randn(8, 3, 64, 64)
    embeddings = net.embed(images)
    assert 0.03 < float(embeddings.detach().std(dim=0).mean()) < 3
    torch.nn.functional.cross_entropy(net(images), torch.arange(8) % 5).backward()
    gradients = [float(p.grad.norm()) for p in net.parameters() if p.grad is not None and p.ndim > 1]
    assert min(gradients) > 1e-6


def test_normalisation_remembers_many_batches() -> None:
    momenta = {m.momentum for m in backbone("efficientnet-b3", 2).modules() if isinstance(m, torch.nn.BatchNorm2d)}
    assert momenta == {0.01}


def test_branches_are_left_out_for_whole_images_while_training() -> None:
    from shortlist.models.network.architectures import DropPath

    torch.manual_seed(0)
    drop = DropPath(0.5)
    ones = torch.ones(200, 3, 4, 4)
    values = drop(ones).flatten(1)
    assert set(values.unique().tolist()) == {0.0, 2.0}
    assert bool((values == values[:, :1]).all())
    assert 60 < int((values[:, 0] > 0).sum()) < 140
    assert torch.equal(drop.eval()(ones), ones)


def test_the_same_seed_makes_the_same_network() -> None:
    nets = []
    for _ in range(2):
        torch.manual_seed(3)
        nets.append(backbone("efficientnet-b3", 2).state_dict())
    assert all(torch.equal(nets[0][name], nets[1][name]) for name in nets[0])


def test_other_names() -> None:
    with pytest.raises(ShortlistError, match=r"'resnet' is none of .*, efficientnet-b3, vit-s16"):
        architecture("resnet", 2)
