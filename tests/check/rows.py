# SPDX-License-Identifier: BSD-3-Clause
"""One expression for every function that `check` knows by an alias, by a row of its own or as a composition.

`x`, `y`, `z` are 3 by 3 leaves, `b` a leaf of 3; `image` is 1 by 4 by 6 by 6, `line` 1 by 4 by 6, `cube` 1 by 4 by 6 by 6 by 6, all leaves.
"""

UNARY = (
    "absolute acos arccos arcsin arctan asin atan cosh diag diag_embed diagonal erf erfinv exp2 fliplr flipud lgamma log10 "
    "log2 logit negative ravel rot90 sinh square tan trace nanmean nansum median det logdet inverse pinverse matrix_exp"
).split()
FUNCTIONAL = (
    "celu elu gumbel_softmax hardshrink hardsigmoid hardswish hardtanh logsigmoid mish relu6 rrelu selu softmin softshrink "
    "softsign tanhshrink normalize dropout"
).split()
BINARY = (
    "arctan2 atan2 cross divide fmod inner kron logaddexp matmul multiply subtract true_divide tensordot cdist outer[b,b] ger[b,b]"
).split()
LOSSES = (
    "binary_cross_entropy_with_logits huber_loss l1_loss kl_div poisson_nll_loss multilabel_soft_margin_loss "
    "cosine_similarity pairwise_distance hinge_embedding_loss cross_entropy"
).split()

EXPRESSIONS: dict[str, str] = {
    **{n: f"torch.{n}(x)" for n in UNARY},
    **{n: f"F.{n}(x)" for n in FUNCTIONAL},
    **{n.partition("[")[0]: f"torch.{n.partition('[')[0]}({n[-4:-1] if '[' in n else 'x, y'})" for n in BINARY},
    **{n: f"F.{n}(x, y)" for n in LOSSES},
    **{n: f"torch.{n}([x, y])" for n in "cat column_stack concat concatenate dstack hstack vstack".split()},
    **{n: f"torch.fft.{n}(x)" for n in "fft fft2 fftn ifft ifft2 irfft irfft2 irfftn rfft rfft2 rfftn".split()},
    **{n: f"x.{n}()" for n in "bfloat16 half".split()},
    **{n: f"x.{n}(y)" for n in "expand_as reshape_as view_as".split()},
    **{f"conv{n}d": f"F.conv{n}d({v}, torch.ones({', '.join(['2', '4', *['3'] * n])}).requires_grad_())"
       for n, v in ((1, "line"), (2, "image"), (3, "cube"))},
    **{f"conv_transpose{n}d": f"F.conv_transpose{n}d({v}, torch.ones({', '.join(['4', '2', *['3'] * n])}).requires_grad_())"
       for n, v in ((1, "line"), (2, "image"), (3, "cube"))},
    **{f"{k}_pool{n}d": f"F.{k}_pool{n}d({v}, 2)"
       for k in ("max", "avg", "adaptive_max", "adaptive_avg") for n, v in ((1, "line"), (2, "image"), (3, "cube"))},
    **{f"dropout{n}d": f"F.dropout{n}d({v})" for n, v in ((1, "line"), (2, "image"), (3, "cube"))},
    "alpha_dropout": "F.alpha_dropout(x, 0.5, True)", "soft_margin_loss": "F.soft_margin_loss(x, torch.ones(3, 3))",
    "T": "x.T", "mT": "x.mT", "H": "x.H", "addbmm": "torch.addbmm(x, x[None], y[None])",
    "addcdiv": "torch.addcdiv(x, y, z)", "addcmul": "torch.addcmul(x, y, z)", "addmv": "torch.addmv(b, x, b)",
    "baddbmm": "torch.baddbmm(x, y[None], z[None])", "batch_norm": "F.batch_norm(image, None, None, training=True)",
    "bilinear": "F.bilinear(x, y, torch.ones(2, 3, 3).requires_grad_())", "broadcast_to": "torch.broadcast_to(b, (3, 3))",
    "cholesky": "torch.linalg.cholesky(x @ x.T + torch.eye(3))", "chunk": "torch.chunk(x, 3)[0]", "clip": "torch.clip(x, 0.3, 0.6)",
    "cosine_embedding_loss": "F.cosine_embedding_loss(x, y, torch.ones(3))",
    "cumprod": "torch.cumprod(x, 0)", "einsum": "torch.einsum('ij,jk->ik', x, y)", "flatten": "torch.flatten(image)",
    "embedding_bag": "F.embedding_bag(index[None], x)", "float": "x.double().float()", "double": "x.double()",
    "gaussian_nll_loss": "F.gaussian_nll_loss(x, y, z)", "glu": "F.glu(line, 1)",
    "grid_sample": "F.grid_sample(image, torch.zeros(1, 2, 2, 2).requires_grad_())", "group_norm": "F.group_norm(image, 2)",
    "imag": "torch.fft.fft(x).imag", "index_add": "x.index_add(0, index, y[:2])", "index_copy": "x.index_copy(0, index, y[:2])",
    "index_fill": "x.index_fill(0, index, 1.0)", "index_select": "x.index_select(0, index)",
    "instance_norm": "F.instance_norm(image)", "interpolate": "F.interpolate(image, 3)", "upsample": "F.upsample(image, 3)",
    "inv": "torch.linalg.inv(x)", "layer_norm": "F.layer_norm(x, (3,), b, b)", "linear": "F.linear(x, y, b)",
    "log_softmax": "torch.log_softmax(x, 0)", "logsumexp": "torch.logsumexp(x, 0)", "movedim": "torch.movedim(x, 0, 1)",
    "margin_ranking_loss": "F.margin_ranking_loss(b, x[0], torch.ones(3))", "multi_dot": "torch.linalg.multi_dot([x, y, z])",
    "chain_matmul": "torch.chain_matmul(x, y, z)", "multi_margin_loss": "F.multi_margin_loss(x, torch.tensor([0, 1, 2]))",
    "narrow": "torch.narrow(x, 0, 0, 2)", "norm": "torch.norm(x)", "pad": "F.pad(x, (1, 1))", "pixel_shuffle": "F.pixel_shuffle(image, 2)",
    "prelu": "F.prelu(x, b[:1])", "quantile": "torch.quantile(x, 0.3)", "real": "torch.fft.fft(x).real",
    "repeat": "x.repeat(2, 1)", "tile": "x.tile(2)", "repeat_interleave": "torch.repeat_interleave(x, 2)", "reshape": "x.reshape(9)",
    "rms_norm": "F.rms_norm(x, (3,), b)", "scaled_dot_product_attention": "F.scaled_dot_product_attention(x[None], y[None], z[None])",
    "slogdet": "torch.slogdet(x)[1]", "solve": "torch.linalg.solve(x, y)", "sort": "torch.sort(x)[0]", "topk": "torch.topk(x, 2)[0]",
    "std_mean": "torch.std_mean(x)[0]", "var_mean": "torch.var_mean(x)[0]", "sum_to_size": "x.sum_to_size(1, 3)",
    "svd": "torch.svd(x)[0]", "swapaxes": "torch.swapaxes(x, 0, 1)", "take": "torch.take(x, index)",
    "take_along_dim": "torch.take_along_dim(x, torch.tensor([[0], [1], [2]]), 1)", "threshold": "F.threshold(x, 0.3, 0.0)",
    "triplet_margin_loss": "F.triplet_margin_loss(x, y, z)", "type_as": "x.type_as(y.double())",
    "unflatten": "torch.unflatten(image, 1, (2, 2))", "unfold": "x.unfold(0, 2, 1)", "vector_norm": "torch.linalg.vector_norm(x)",
    "view_as_complex": "torch.view_as_complex(image.view(-1, 2))", "view_as_real": "torch.view_as_real(torch.fft.fft(x))",
    "stft": "torch.stft(line[0], 4, return_complex=True)",
    "lstm_cell": "torch.nn.LSTMCell(3, 3)(x)[0]", "gru_cell": "torch.nn.GRUCell(3, 3)(x)", "rnn_cell": "torch.nn.RNNCell(3, 3)(x)",
    "ctc_loss": "F.ctc_loss(image[0].log_softmax(2), torch.ones(6, 2).long(), [4] * 6, [2] * 6)",
    "triangular_solve": "torch.triangular_solve(x, y)[0]", "solve_triangular": "torch.linalg.solve_triangular(x, y, upper=True)",
    "cholesky_solve": "torch.cholesky_solve(x, y)", "cholesky_inverse": "torch.cholesky_inverse(x)",
    "eigh": "torch.linalg.eigh(x + x.T)[1]", "eigvalsh": "torch.linalg.eigvalsh(x + x.T)", "qr": "torch.linalg.qr(x)[0]",
    "pinv": "torch.linalg.pinv(x)", "matrix_norm": "torch.linalg.matrix_norm(x)", "digamma": "torch.digamma(x)",
    "polygamma": "torch.polygamma(1, x)", "block_diag": "torch.block_diag(x, y)", "frac": "torch.frac(x)",
    "affine_grid": "F.affine_grid(torch.stack([x[:2], y[:2]]), (2, 1, 4, 4), align_corners=False)",
    "recurrent": "torch.nn.LSTM(3, 3)(x)[0]", "rtruediv": "2 / x",
}  # fmt: skip
