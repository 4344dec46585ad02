"""The processor that code is compiled for, and what decisions of passes cost on it.

`CostModel` has every field. A pass inherits the groups that it reads, so each field is an option of the pass, and
`pipelines.py` fills the options from one model. The defaults are those of a `COMMON` processor, whatever the machine.
Each field states its unit, what it trades off, and a benchmark that shows its effect: a file of `benchmarks/`, and in
quotes a case or workload.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute


@dataclass(frozen=True, kw_only=True)
class _Checked:
    """A group of fields. ValueError for one that is not positive."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name in _NAMES and not isinstance(value, bool) and value <= 0:
                raise ValueError(f"{name} must be positive, got {value}")


@dataclass(frozen=True, kw_only=True)
class Caches(_Checked):
    """The data caches of one core. `backend/machine/model.py` reads the sizes of this machine."""

    line_bytes: int = 64
    """Bytes of a cache line."""

    l1_bytes: int = 1 << 15
    """Bytes of the L1 data cache of a core. A copied panel of a matmul's RHS fills it."""

    l1_way_bytes: int = 1 << 12
    """Bytes of a way of L1, a page: lines at such distances share a set. breadth.py "512x512x512"."""

    l2_bytes: int = 1 << 20
    """Bytes of the L2 cache of a core. The larger, the more rows of a matmul are computed at a time (`rows_in_l2`)."""

    @property
    def line_columns(self) -> int:
        """Elements of 4 bytes in a cache line. Chunks of columns begin at multiples of it."""
        return self.line_bytes // 4


@dataclass(frozen=True, kw_only=True)
class Bf16Products(_Checked):
    """Whether matmuls of bf16 are worth keeping: passes before and after fusion ask."""

    bf16: bool = False
    """Whether the processor has dot products of bf16 (AVX512-BF16)."""


@dataclass(frozen=True, kw_only=True)
class Target(Bf16Products, Caches):
    """A processor: its vector registers, dot products and caches."""

    lanes: int = 8
    """32-bit elements per vector register."""

    registers: int = 16
    """Number of vector registers."""

    multiplications_at_once: int = 1
    """Multiplications of whole vectors that begin in a cycle, with as many loads."""

    prefetches_stores: bool = True
    """Whether lines that are stored to are worth a prefetch. breadth.py "layouts"."""

    int8: bool = False
    """Whether the processor has dot products of i8 (AVX512-VNNI)."""

    amx: bool = False
    """Whether the processor has tile registers, with matmuls of bf16 and of i8 (AMX)."""

    def lanes_of(self, element: Attribute) -> int:
        """Return the number of elements of a type in one register."""
        return self.lanes // 2 if element == f64 else self.lanes


@dataclass(frozen=True, kw_only=True)
class MatmulCosts(_Checked):
    """Costs that the choice of tiles and the passes before it share."""

    min_matmul_columns: int = 4
    """Columns of a matmul that make it worth vectors. Fewer columns are sums of single elements."""


@dataclass(frozen=True, kw_only=True)
class TileCosts(MatmulCosts, Target):
    """Costs of matmul tiles, for `lir-tile-matmuls`: which matmuls become tiles, of which sizes, with which copies."""

    max_tiled_rows: int = 16
    """Rows up to which tiles beat a library that packs the RHS first. More rows pay for packing. run.py "lstm"."""

    max_looped_rows: int = 64
    """The same in a loop, which becomes one kernel if no library is called in it. run.py "lstm"."""

    wide_register_bytes: int = 2048
    """Bytes of all vector registers from which on tiles beat the library for many rows. breadth.py "products"."""

    max_wide_rows: int = 512
    """Rows up to which they do for an RHS of any size. breadth.py "products"."""

    min_wide_rows: int = 8
    """Rows from which on they do for an RHS that is copied; rows of a tile of unknown extents. run.py "attention"."""

    max_call_multiplications: int = 1 << 12
    """Multiplications up to which the call of a library takes long beside them: 50 products of 8x8x8 take 2.2 us as
    tiles, and 3.6 by the library. breadth.py "products"."""

    min_packed_multiplications: int = 1_000_000
    """Multiplications from which on libraries pack both operands, a loss for few rows. run.py "lstm"."""

    min_deep_terms: int = 256
    """Terms of a sum from which on libraries lose with few rows and columns. run.py "embedding"."""

    min_deep_columns: int = 8
    """Columns of such a matmul at least. run.py "embedding"."""

    max_copied_rhs_elements: int = 1 << 12
    """Elements of a transposed RHS up to which a loop copies it onto the stack. run.py "delta-net"."""

    min_sharing_rows: int = 4
    """Rows from which on that copy pays; fewer rows are sums along both operands in place. run.py "delta-net"."""

    min_unknown_columns_multiplications: int = 1 << 25
    """Multiplications of a step from which on tiles of unknown columns are worth compiling. run.py "attention"."""

    assumed_trips: int = 4
    """Iterations assumed of a loop whose trip count is unknown. run.py "attention"."""

    max_offset_rows: int = 1 << 14
    """Rows of a matmul of i8 up to which the sums of its bytes are on the stack. breadth.py "products"."""

    min_called_terms: int = 16
    """Terms of a sum from which on tiles are functions of the library, compiled once per machine. Beside fewer terms a
    call takes long. breadth.py "2000x3x2000"."""

    matmul_ops: int = 150
    """Ops that a matmul becomes. The largest kernels are compiled first, beside the lowering of others. cold.py."""

    max_tile_rows: int = 14
    """Rows of a tile at most: with two vectors each, the accumulators and operands fill 32 registers. run.py "a"."""

    max_tile_vectors: int = 8
    """Vectors in a row of a tile at most. run.py "a"."""

    few_registers: int = 16
    """Registers up to which tiles are so small that loads of operands count. run.py "a" on x86-64-v3."""

    load_multiplications: float = 0.25
    """Multiplications that a load delays, with few registers or several multiplications at once. run.py "a" on
    x86-64-v3."""

    edge_multiplications: int = 2
    """Multiplications that another tile size costs at each edge, where loads count. run.py "a" on x86-64-v3."""

    high_tile_rows: int = 4
    """Rows from which on `high_tile_vectors` fill few registers. run.py "a" on x86-64-v3."""

    high_tile_vectors: int = 3
    """Vectors in a row of such a tile at most. run.py "a" on x86-64-v3."""

    l2_line_multiplications: int = 5
    """Multiplications of vectors in the time that a cache line takes from L2. tune.py measures it."""

    multiplications_in_flight: int = 8
    """Multiplications of vectors that can be in flight; fewer accumulators wait for each other. tune.py measures it."""

    panel_depth: int = 256
    """Rows of an RHS panel, the terms that are accumulated at a time. A longer panel leaves L1. run.py "a"; tune.py."""

    near_panel_depth: int = 160
    """The same with several multiplications at once, whose loads have to come from L1: a panel of wide tiles is less
    long. breadth.py "512x512x512", "50x100000x50 nn"."""

    packed_panel_depth: int = 512
    """The same of packed bf16 and i8, two or four terms each, whose panel may be in L2. breadth.py "products"."""

    max_uncut_depth: int = 384
    """Terms up to which the inner dimension is one block, so that sums are equal for all rows. run.py "a"."""

    min_copied_panel_rows: int = 24
    """Rows from which on copies of RHS panels pay: they leave few sets of the cache, and fit L1. run.py "a"."""

    min_padded_parts: int = 16
    """Parts of vectors that all rows save, at least, if an RHS is padded. breadth.py "jacfwd of 30 by 64"."""

    min_packed_lhs_rows: int = 16
    """Rows from which on it pays to copy an LHS whose rows are strided. run.py "a"."""

    min_packed_lhs_panels: int = 4
    """Panels of the RHS from which on it pays. run.py "a"."""

    max_overlap: float = 1 / 32
    """Share of rows or columns that may be computed twice so that all tiles have one size. run.py "a" on x86-64-v3."""

    prefetched_lines: int = 8
    """Rows of the next RHS panel that are prefetched before each tile, if the tiles are not counted. run.py "a"."""

    l2_share: float = 0.25
    """Share of L2 that one operand may fill and stay there: copies of an LHS, an RHS without prefetches. run.py "a"."""

    lhs_l2_share: float = 0.5
    """Share of L2 that rows of an LHS fill while panel after panel of the RHS is multiplied by them. run.py "a"."""

    rounded_block_columns: int = 512
    """Columns of a block of f32 sums of a bf16 matmul; with more, fewer rows share a panel. breadth.py "products"."""

    min_register_rows: int = 8
    """Rows from which on a matmul of bf16 or i8 uses tile registers, if there are any. breadth.py "products"."""

    register_panel_blocks: int = 8
    """Blocks of 32 columns of a bf16 or i8 RHS copied at a time for tile registers. breadth.py "64x1024x1024"."""

    min_narrow_panel_rows: int = 128
    """Rows from which on one block is, which stays nearer. breadth.py "64x1024x1024", "256x512x512"."""

    integer_rows: int = 4
    """Rows of an i8 RHS that are multiplied and added before the sums are stored. breadth.py "products"."""

    @property
    def l2_operand_bytes(self) -> int:
        """Bytes of one operand that stay in L2."""
        return int(self.l2_bytes * self.l2_share)

    @property
    def loads_count(self) -> bool:
        """Whether the loads of operands take time beside multiplications."""
        return self.registers <= self.few_registers or self.multiplications_at_once > 1


@dataclass(frozen=True, kw_only=True)
class LoopNestCosts(_Checked):
    """Costs that fusion and the lowering of its groups share; both passes need the same numbers."""

    max_single_row_elements: int = 1 << 14
    """Elements up to which a kernel reduces all and reads the result again, in one chunk. breadth.py "graphs"."""


@dataclass(frozen=True, kw_only=True)
class FusionCosts(LoopNestCosts):
    """Costs of `mir-fuse`: launches and memory traffic against repeated work and long kernels."""

    launch_additions: int = 48_000
    """Additions of elements, in vectors, in the time of a launch (1 us). A larger value keeps more ops in one kernel.
    breadth.py "logs by outer"; tune.py measures it."""

    launch_scalar_additions: int = 4_000
    """The same in additions of single elements. breadth.py "logs by outer"; tune.py measures it."""

    scalar_slowdown: int = 128
    """Times that an operation on one element takes as long as in a vector, with its latency. breadth.py "softmax"."""

    vector_elements: int = 16
    """Elements that a vectorised loop computes at a time, in place of which functions of single rows are computed one
    by one. breadth.py "cross entropy"."""

    load_additions: int = 2
    """Additions in the time of a load from L1. breadth.py "logs by outer"."""

    recompute_additions: int = 9
    """Additions up to which a value is recomputed by each kernel that reads it, not stored and loaded. run.py "e"."""

    max_recomputed_ops: int = 16
    """Ops that a kernel may recompute for others beside as many as its own. run.py "e"."""

    max_repeated_additions: int = 64
    """Additions for an element up to which a kernel over more loops may compute it in each iteration: a round of
    Threefry is 5, a store and a load about 4. breadth.py "draws"."""

    min_separate_rows: int = 64
    """Rows from which on functions of single rows are worth a kernel of their own. breadth.py "cross entropy"."""

    max_group_ops: int = 1000
    """Ops in one kernel. More no longer save memory traffic, and compile slowly. cold.py."""

    max_group_functions: int = 16
    """Transcendental functions in one kernel. LLVM's time grows faster than their number, a store and a load cost a
    fiftieth of them, and equal groups share a kernel. cold.py."""

    max_group_buffers: int = 96
    """Values that one kernel reads and writes. cold.py."""

    max_copied_scalar_ops: int = 8
    """Ops of a tree of one-element ops up to which each user gets a copy of the tree. cold.py."""

    max_copies_of_scalar_ops: int = 64
    """Ops in all copies of such a tree: a launch takes 1 us, an op 5 to 50 ns, and 0.1 ms to compile. cold.py."""


@dataclass(frozen=True, kw_only=True)
class ScatterCosts(_Checked):
    """When gradients of images are products that are added up where windows lie: passes and kernels ask."""

    min_scattered_channels_ratio: int = 4
    """Ratio of output to input channels of a convolution above which they are: the matrix of windows of a convolution
    by the turned weight has as many times more rows. breadth.py "7x7 stride 2 of 3"."""


@dataclass(frozen=True, kw_only=True)
class NormalizeCosts(MatmulCosts, Bf16Products, ScatterCosts):
    """Costs of `mir-normalize`: when other ops compute the same faster."""

    max_thin_extent: int = 4
    """Extent of the thin dimension of a matmul up to which it becomes sums or products that fuse; kernels keep as many
    sums per element. breadth.py "2000x3x2000"."""

    min_thin_matmul_extent: int = 64
    """The other extents of such a matmul at least; smaller matrices are tiles. breadth.py "2000x3x2000"."""

    argmax_block_elements: int = 1024
    """Elements of a block of a long row: an argmax searches the best block again, not the row. breadth.py "argmax"."""

    min_argmax_blocks: int = 16
    """Blocks of a row from which on that pays: launches take 3 us, as 16,000 elements do. breadth.py "argmax"."""

    max_interleaved_parts: int = 8
    """Parts of a concat that are interleaved in vectors; LLVM shuffles as many well. breadth.py "stack", "unfold 5"."""

    min_interleaved_elements: int = 64
    """Elements of a part from which on that pays; fewer are a vector or two. breadth.py "stack"."""

    max_conv_phases: int = 4
    """Phases of a strided convolution whose gradients are convolutions, a kernel each. breadth.py "conv"."""

    max_joint_phase_windows_ratio: float = 1.3
    """Ratio of the windows of one convolution for all phases to those that phases have, up to which it takes less time
    than one for each, which reads the cotangent again. breadth.py "transposed 4x4 stride 2"."""


@dataclass(frozen=True, kw_only=True)
class SinkCosts(_Checked):
    """Costs of `mir-split-axes` and `mir-sink-copies`."""

    max_moved_ops: int = 8
    """Elementwise ops in a row that a reshape or copy is moved past. More compile longer. breadth.py "repeat"."""

    max_sunk_parts: int = 4
    """Parts of a concat that elementwise ops are computed on one by one, a kernel each. breadth.py "roll"."""

    max_transposed_reads: int = 1
    """Values of all elements that a kernel reads transposed instead of a copy of its result. Each has tiles of its own.
    breadth.py "normalise colours"."""

    min_pairs: int = 16
    """Pairs in a row from which on they are reduced side by side; fewer leave vectors empty. breadth.py "k-means"."""

    max_pair_elements: int = 256
    """Elements of the rows of such pairs at most; longer sums take vectors of their own well. breadth.py "k-means"."""

    min_reads_of_transposed: int = 8
    """Pairs for each element of what is transposed for that, at least. breadth.py "k-means"."""

    max_transposed_additions: int = 12
    """Additions for an element of such a kernel: columns that fill no vector are computed one by one. breadth.py
    "normalise colours"."""


@dataclass(frozen=True, kw_only=True)
class BucketCosts(_Checked):
    """How reductions over processes are joined."""

    bucket_bytes: int = 1 << 22
    """Bytes of reductions over processes that are one message. Larger ones start later. benchmarks/scaling.py."""


@dataclass(frozen=True, kw_only=True)
class PrepareCosts(NormalizeCosts, SinkCosts, BucketCosts):
    """Costs of `mir-prepare-for-fusion`, which runs these passes."""


@dataclass(frozen=True, kw_only=True)
class LaunchCosts(Caches):
    """Costs of launches: chunks for threads, and destinations in concats."""

    parallel_ops: int = 20_000
    """Scalar operations from which on a launch is cut into chunks. Smaller chunks cost more to hand to a thread than
    they take. run.py "e"; tune.py measures it."""

    chunks_per_thread: int = 4
    """Chunks of a launch without reductions for each thread, so that a late thread does not delay all. run.py "e"."""

    multiplications_per_op: int = 8
    """Multiplications of a matmul in the time of one scalar operation, with operands in cache. run.py "lstm"."""

    row_multiplications_per_op: int = 2
    """The same for an LHS of one row, where the RHS is read from a farther cache. run.py "rnn"."""

    min_tall_chunk_rows: int = 512
    """Rows of a chunk from which on a column reduction is cut into rows with partial sums. run.py "lstm"."""

    private_sums_bytes: int = 1 << 13
    """Bytes up to which column sums of a chunk are on its stack: threads that write to neighbouring lines delay each
    other. run.py "lstm"."""

    min_part_terms: int = 512
    """Terms of a part of a long inner dimension, which is split among threads. run.py "lstm"."""

    min_terms_per_extent: int = 8
    """Ratio of the inner dimension to the smaller other one from which on adding parts costs little. run.py "lstm"."""

    min_split_multiplications: int = 1 << 22
    """Multiplications from which on the inner dimension is split. run.py "lstm"."""

    concat_window_ops: int = 16
    """Ops in front of a concat that may compute into it. More ops extend its time in memory. run.py "log-mel"."""

    rest_additions: int = 2
    """Additions for each element of a row of a concat that those behind its last whole vector, which are computed one
    by one, may take together. With more, rows are computed elsewhere and copied. breadth.py "rows of two parts"."""

    min_reads_of_copy: int = 8
    """Reads of each element across the lines of a buffer from which on a copy that is read along its lines pays.
    breadth.py "k-means"."""

    @property
    def max_split_elements(self) -> int:
        """Elements of 4 bytes of the result of a split inner dimension: each thread has as many in L2."""
        return self.l2_bytes // 4


@dataclass(frozen=True, kw_only=True)
class ReductionCosts(_Checked):
    """Costs of reductions: accuracy of sums against totals in memory."""

    sum_steps: int = 128
    """Steps of a narrow sum before it is added to a wider total; more lose precision. precision.py."""

    sum_lanes: int = 16
    """Sums that a vectorised loop carries side by side at least, four of the smallest vectors. precision.py."""

    unrolled_iterations: int = 64
    """Iterations that a vectorised loop takes at a time at most, four of the largest vectors of f32. run.py "d"."""

    column_copies: int = 8
    """Copies of few columns that rows add to in turn, not after each other. breadth.py "reductions"."""

    max_copied_columns: int = 64
    """Columns up to which they do; additions to more columns are in flight together. breadth.py "reductions"."""


@dataclass(frozen=True, kw_only=True)
class RowCosts(_Checked):
    """Costs of kernels over rows: passes over a row, and vectors across short rows."""

    row_recompute_additions: int = 6
    """Additions that a later pass over a row spends on a value, for its own ops, not a load. run.py "d"."""

    row_recompute_total_additions: int = 24
    """The same with ops of earlier passes. run.py "d"."""

    max_row_scratch_bytes: int = 1 << 16
    """Bytes of one value that are saved on the stack for a row. run.py "d"."""

    min_cut_iterations: int = 16
    """Iterations from which on an outer loop is cut, not an inner one: whole lines. breadth.py "layouts"."""

    max_short_row_elements: int = 15
    """Elements of a row up to which vectors may go across rows. breadth.py "layers"."""

    min_short_row_elements: int = 7
    """Elements from which on they do. Shorter rows are unrolled, with vectors of rows. breadth.py "layers"."""

    widest_vector_bytes: int = 64
    """Bytes of the largest vectors: rows that are multiples of it are not short. breadth.py "layers"."""


@dataclass(frozen=True, kw_only=True)
class StoreCosts(Target):
    """Costs of stores to memory, for `lir-prefetch-stores`."""

    min_streamed_store_bytes: int = 1 << 21
    """Bytes of a buffer from which on stores to it are prefetched. breadth.py "axpy 2000000"."""

    store_block_bytes: int = 1024
    """Bytes that are prefetched together; fewer take more instructions. breadth.py "axpy 2000000"."""

    store_distance_bytes: int = 2048
    """Bytes ahead of a store at which they are. breadth.py "axpy 2000000"."""

    strip_rows_ahead: int = 8
    """Lines ahead of a strip at which one is prefetched. breadth.py "transposed sum"."""


@dataclass(frozen=True, kw_only=True)
class ColumnCosts(_Checked):
    """Costs of elementwise kernels and of reductions over columns."""

    max_gathered_steps: int = 4
    """Steps of an innermost loop over neighbours that is moved inside; shuffles of more registers cost more than they
    save. functions_beside_peers.py "pixel_shuffle"."""

    strip_columns: int = 16
    """Columns that are computed for all rows before the next ones, where a value is read across: a line of them is
    written at a time. breadth.py "transpose"."""

    min_strip_rows: int = 16
    """Rows from which on that pays: a vector of them is read at a time. breadth.py "transpose"."""

    transposed_rows: int = 32
    """Rows of a tile that is transposed in L1: a few vectors. breadth.py "transpose"."""

    transposed_rows_beyond_l2: int = 256
    """The same for values that L2 does not hold, by number: longer runs are read. breadth.py "transpose"."""

    prefetch_distance_bytes: int = 8192
    """Bytes ahead at which a row is prefetched, two pages: processors end at one. functions_beside_peers.py "glu"."""

    min_prefetched_row_bytes: int = 512
    """Bytes of a row from which on it is prefetched across a gap. functions_beside_peers.py "glu"."""

    max_prefetched_row_bytes: int = 2048
    """Bytes of such a row at most: processors prefetch longer rows themselves. functions_beside_peers.py "glu"."""

    near_sums: int = 1024
    """Sums over columns of a chunk, which are added to row by row, if all of them fill more than L1. Few stay there
    beside what is read. breadth.py "of 16x100000 axis 0"."""

    column_sum_rows: int = 4
    """Rows added to a column sum at a time: more are too many addresses. breadth.py "of 64x127x65 axis 1"."""

    max_column_sum_additions: int = 4
    """Additions of an element at most; with more, memory does not set the time. breadth.py, cold, "16 branches"."""

    max_column_sum_reads: int = 4
    """Values that such a sum reads of a row at most: each is an address. breadth.py "sum of 64x127x65 axis 1"."""


@dataclass(frozen=True, kw_only=True)
class VectorCosts(_Checked):
    """Costs that the passes over loops share."""

    unroll_vector_elements: int = 8
    """Elements of a vector, about, by which iterations of a vectorised loop are counted. kernels.py."""


@dataclass(frozen=True, kw_only=True)
class UnrollCosts(VectorCosts, Target):
    """Costs of `lir-mark-unrolled`: code of LLVM against short loops. kernels.py bounds LLVM's time."""

    max_unrolled_ops: int = 300
    """Operations of one loop after unrolling. kernels.py."""

    max_unrolled_vector_ops: int = 24
    """Operations on vectors of one vectorised loop after unrolling. kernels.py."""

    max_kernel_unrolled_ops: int = 2048
    """Operations of all unrolled loops of a kernel; the smallest are unrolled first. kernels.py."""

    max_ops_beside: int = 256
    """Operations in a loop beside which no inner loop is unrolled: LLVM would make vectors of all of them.
    kernels.py."""

    max_gathers: int = 50
    """Strided loads and stores of the loop around unrolled loops: LLVM gathers them one by one. kernels.py."""

    narrow_gather_weight: int = 6
    """Weight of one of them with less than 4 bytes, which no instruction gathers. kernels.py."""

    function_ops: int = 40
    """Operations that a transcendental function counts for, which is inlined. kernels.py."""

    max_masked_iterations: int = 128
    """Iterations of a loop below which its rest may be a masked vector. breadth.py "one-hot cross entropy"."""

    min_masked_ops: int = 6
    """Operations of a reduction without functions that make it worth a mask. breadth.py "one-hot cross entropy"."""

    max_unrolled_row_elements: int = 32
    """Elements of a row up to which several rows are computed at a time. kernels.py."""

    max_unrolled_rows_ops: int = 384
    """Operations on vectors of such rows at most; neighbours share their loads. kernels.py."""


@dataclass(frozen=True, kw_only=True)
class ConvCosts(ScatterCosts, Caches):
    """Costs of convolutions by Winograd's tiles of two by two windows, in multiplications that take as long."""

    winograd_image_multiplications: int = 90
    """Multiplications in the time that the points of a tile of an input channel take. A larger value keeps convolutions
    of few output channels direct. breadth.py "3x3 groups 4"."""

    winograd_windows_multiplications: int = 50
    """Multiplications in the time that the windows of a tile of an output channel take. A larger value keeps
    convolutions of few input channels direct. breadth.py "3x3 groups 4"."""

    winograd_row_multiplications: int = 600
    """Multiplications in the time that a row of an image takes beside its tiles. A larger value keeps convolutions of
    short rows direct. breadth.py "3x3 7x7"."""

    winograd_weight_multiplications: int = 150
    """Multiplications in the time that the points of nine taps take. A larger value keeps convolutions of few windows
    direct. breadth.py "3x3 7x7"."""

    direct_conv_efficiency: float = 0.7
    """Multiplications of a direct convolution in the time of one of a large matmul. A smaller value takes tiles for
    fewer channels. breadth.py "3x3 groups 4"."""


@dataclass(frozen=True, kw_only=True)
class GroupCosts(LaunchCosts, ReductionCosts, RowCosts, ColumnCosts, LoopNestCosts, UnrollCosts, ConvCosts):
    """Costs of the kernels of fusion groups and single ops, for `convert-mir-to-lir`."""


@dataclass(frozen=True, kw_only=True)
class LoopCosts(VectorCosts):
    """Costs of `lir-outline-loops`: launches and barriers against kernels that run long or on one thread."""

    max_outlined_ops: int = 2000
    """Ops of a kernel that is put together; more compile long. cold.py."""

    max_iteration_work: int = 1 << 17
    """Scalar operations of an iteration up to which its launches become one kernel. run.py "rk4"."""

    max_chunk_work: int = 1 << 20
    """The same for each chunk, if launches have several: threads wait ten times as long as for a launch. run.py
    "lstm"."""

    return_work: int = 1 << 24
    """Scalar operations after which a kernel returns, so that a run can be interrupted. run.py "checkpointed"."""

    max_chunk_loop_work: int = 1 << 27
    """Scalar operations of all iterations of a chunk, which runs to its end, a tenth of a second. run.py "lstm"."""

    private_carry_bytes: int = 1 << 16
    """Bytes of a buffer up to which each chunk of a loop has it on its stack; prefetches of neighbouring chunks would
    move it from core to core. run.py "selective-scan"."""

    private_carries_bytes: int = 1 << 18
    """Bytes of all such buffers of a chunk. run.py "selective-scan"."""

    max_swapped_elements: int = 1 << 12
    """Elements of a carry up to which it is moved, rather than found in one of two buffers. run.py "rk4"."""

    poll_work: int = 1 << 26
    """Scalar operations after which a while loop asks whether the run goes on: some 10 ms. run.py "circuit"."""

    private_branch_bytes: int = 1 << 12
    """Bytes of a buffer up to which a while loop or branch that alone uses it has it on its stack. run.py "circuit"."""

    kept_branch_bytes: int = 1 << 8
    """Bytes of any other buffer that a while loop writes up to which it is on the stack during the loop. run.py
    "circuit"."""


@dataclass(frozen=True, kw_only=True)
class OverlapCosts(_Checked):
    """Costs of `lir-overlap-collectives`."""

    overlap: bool = True
    """Whether collectives run beside launches that do not need their results. benchmarks/scaling.py."""

    poll_collectives: bool = True
    """Whether the library of MPI is called between launches. benchmarks/scaling.py."""

    collectives_in_flight: int = 8
    """Collectives that have been started and not waited for: their buffers are in use. benchmarks/scaling.py."""


@dataclass(frozen=True, kw_only=True)
class MergeCosts(Caches):
    """Costs of `lir-merge-launches`."""

    merged_l2_share: float = 0.5
    """Share of L2 that a chunk of merged launches touches. breadth.py "of 16x100000 axis 0"."""

    min_merged_bytes: int = 2048
    """Bytes that lie side by side for a chunk of merged launches, at least: processors do not prefetch shorter lines.
    breadth.py "of 16x100000 axis 0"."""


@dataclass(frozen=True, kw_only=True)
class CostModel(
    TileCosts,
    FusionCosts,
    NormalizeCosts,
    SinkCosts,
    GroupCosts,
    LoopCosts,
    BucketCosts,
    OverlapCosts,
    MergeCosts,
    StoreCosts,
):
    """A processor and all costs of passes on it."""


NAMES = tuple(field.name for field in fields(CostModel))
"""The names of all fields."""

_NAMES = frozenset(NAMES)

COMMON = CostModel()
"""The registers of AVX2, which most processors have at least, and caches that most cores have."""
