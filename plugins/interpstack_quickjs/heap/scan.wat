;; Finds what differs between the memory of a guest and the base heap. `scan.py` calls it and says
;; where in this module's own memory both lie: `base` and `heap` are their addresses, with `bytes`
;; each. `images.py` and `allocator.py` do the same in Python, and explain the rules.
;;
;; The guest's memory is data from an untrusted place. Whatever `free` follows in it is checked to
;; lie between the allocator's state and the memory's end; all loops have a bound.
(module
  (memory (export "memory") 1)

  ;; -- wiping: where the allocator holds memory free, the heap gets the content of the base ------

  (global $base (mut i32) (i32.const 0))
  (global $base_bytes (mut i32) (i32.const 0))
  (global $heap (mut i32) (i32.const 0))
  (global $heap_bytes (mut i32) (i32.const 0))
  (global $state (mut i32) (i32.const 0))    ;; of the allocator, as an address of the guest
  (global $spans (mut i32) (i32.const 0))    ;; where the next span is written
  (global $sum (mut i64) (i64.const 0))      ;; bytes of the spans
  (global $sound (mut i32) (i32.const 1))

  (global $MAX_CHUNKS i32 (i32.const 100000))
  (global $SMALL_BINS i32 (i32.const 40))
  (global $TREE_BINS i32 (i32.const 304))

  ;; A byte for each page of the guest, 0 if the page is that of the base; 0 if nothing is known.
  (global $written (mut i32) (i32.const 0))

  (func (export "place") (param i32 i32 i32 i32 i32) (result i32)
    (global.set $written (local.get 4))
    (global.set $base (local.get 0))
    (global.set $base_bytes (local.get 1))
    (global.set $heap (local.get 2))
    (global.set $heap_bytes (local.get 3))
    (i32.const 0))

  (func $is_written (param $at i32) (result i32)
    (if (i32.eqz (global.get $written)) (then (return (i32.const 1))))
    (i32.load8_u (i32.add (global.get $written) (i32.shr_u (local.get $at) (i32.const 12)))))

  (func $word (param $at i32) (result i32)
    (i32.load (i32.add (global.get $heap) (local.get $at))))

  ;; Whether an address may be that of a chunk whose first `bytes` bytes are read.
  (func $is_chunk (param $at i32) (param $bytes i32) (result i32)
    (i32.and
      (i32.eqz (i32.and (local.get $at) (i32.const 7)))
      (i32.and
        (i32.gt_u (local.get $at) (global.get $state))
        (i32.le_u (local.get $at) (i32.sub (global.get $heap_bytes) (local.get $bytes))))))

  ;; Note the inside of a chunk, from `skip` bytes behind its start to its end, as free.
  (func $note (param $chunk i32) (param $skip i32) (param $size i32)
    (if (i32.or
          (i32.lt_u (local.get $size) (local.get $skip))
          (i32.gt_u (local.get $size) (i32.sub (global.get $heap_bytes) (local.get $chunk))))
      (then (global.set $sound (i32.const 0)) (return)))
    (i32.store (global.get $spans) (i32.add (local.get $chunk) (local.get $skip)))
    (i32.store offset=4 (global.get $spans) (i32.add (local.get $chunk) (local.get $size)))
    (global.set $spans (i32.add (global.get $spans) (i32.const 8)))
    (global.set $sum
      (i64.add (global.get $sum)
        (i64.extend_i32_u (i32.sub (local.get $size) (local.get $skip))))))

  ;; Chunks of less than 256 bytes: a ring for each size.
  (func $small
    (local $used i32) (local $head i32) (local $chunk i32) (local $left i32)
    (local.set $used (call $word (global.get $state)))
    (local.set $left (global.get $MAX_CHUNKS))
    (local.set $head (i32.add (global.get $state) (global.get $SMALL_BINS)))
    (loop $bins
      (if (i32.and (local.get $used) (i32.const 1))
        (then
          (local.set $chunk (call $word (i32.add (local.get $head) (i32.const 8))))
          (loop $ring
            (if (i32.ne (local.get $chunk) (local.get $head))
              (then
                (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                (if (i32.or (i32.eqz (local.get $left))
                            (i32.eqz (call $is_chunk (local.get $chunk) (i32.const 16))))
                  (then (global.set $sound (i32.const 0)) (return)))
                (call $note (local.get $chunk) (i32.const 16)
                  (i32.and (call $word (i32.add (local.get $chunk) (i32.const 4)))
                           (i32.const -8)))
                (local.set $chunk (call $word (i32.add (local.get $chunk) (i32.const 8))))
                (br $ring))))))
      (local.set $head (i32.add (local.get $head) (i32.const 8)))
      (br_if $bins
        (local.tee $used (i32.shr_u (local.get $used) (i32.const 1))))))

  ;; Larger chunks: trees, each node of which heads a ring. `seen` has a bit for every 8 bytes of
  ;; the heap; `stack` is where nodes wait, as many as three for each chunk.
  (func $trees (param $stack i32) (param $seen i32)
    (local $used i32) (local $bin i32) (local $top i32) (local $chunk i32)
    (local $count i32) (local $bit i32) (local $field i32) (local $other i32)
    (local.set $used (call $word (i32.add (global.get $state) (i32.const 4))))
    (local.set $bin (i32.add (global.get $state) (global.get $TREE_BINS)))
    (local.set $top (local.get $stack))
    (if (i32.eqz (local.get $used)) (then (return)))
    (memory.fill (local.get $seen) (i32.const 0)
      (i32.shr_u (global.get $heap_bytes) (i32.const 6)))
    (loop $bins
      (if (i32.and (local.get $used) (i32.const 1))
        (then
          (i32.store (local.get $top) (call $word (local.get $bin)))
          (local.set $top (i32.add (local.get $top) (i32.const 4)))))
      (local.set $bin (i32.add (local.get $bin) (i32.const 4)))
      (br_if $bins
        (local.tee $used (i32.shr_u (local.get $used) (i32.const 1)))))
    (loop $nodes
      (local.set $top (i32.sub (local.get $top) (i32.const 4)))
      (local.set $chunk (i32.load (local.get $top)))
      (if (i32.eqz (call $is_chunk (local.get $chunk) (i32.const 32)))
        (then (global.set $sound (i32.const 0)) (return)))
      (local.set $bin
        (i32.add (local.get $seen) (i32.shr_u (local.get $chunk) (i32.const 6))))
      (local.set $bit
        (i32.shl (i32.const 1) (i32.and (i32.shr_u (local.get $chunk) (i32.const 3)) (i32.const 7))))
      (if (i32.eqz (i32.and (i32.load8_u (local.get $bin)) (local.get $bit)))
        (then
          (if (i32.gt_u (local.get $count) (global.get $MAX_CHUNKS))
            (then (global.set $sound (i32.const 0)) (return)))
          (local.set $count (i32.add (local.get $count) (i32.const 1)))
          (i32.store8 (local.get $bin)
            (i32.or (i32.load8_u (local.get $bin)) (local.get $bit)))
          (call $note (local.get $chunk) (i32.const 32)
            (i32.and (call $word (i32.add (local.get $chunk) (i32.const 4))) (i32.const -8)))
          ;; fd, child[0], child[1] are the words at 8, 16 and 20
          (local.set $field (i32.const 8))
          (loop $links
            (local.set $other
              (call $word (i32.add (local.get $chunk) (local.get $field))))
            (if (local.get $other)
              (then
                (i32.store (local.get $top) (local.get $other))
                (local.set $top (i32.add (local.get $top) (i32.const 4)))))
            (local.set $field
              (select (i32.const 16) (i32.add (local.get $field) (i32.const 4))
                (i32.eq (local.get $field) (i32.const 8))))
            (br_if $links (i32.le_u (local.get $field) (i32.const 20))))))
      (br_if $nodes (i32.gt_u (local.get $top) (local.get $stack)))))

  ;; A chunk that is in no list: the last remainder, or what follows all others.
  (func $end (param $chunk i32) (param $size i32)
    (if (i32.eqz (local.get $chunk)) (then (return)))
    (if (call $is_chunk (local.get $chunk) (i32.const 8))
      (then (call $note (local.get $chunk) (i32.const 8) (local.get $size)))
      (else (global.set $sound (i32.const 0)))))

  (func $reset (param $start i32) (param $end i32) (result i32)
    (local $copied i32)
    (local.set $copied
      (select (local.get $end) (global.get $base_bytes)
        (i32.lt_u (local.get $end) (global.get $base_bytes))))
    (if (i32.lt_u (local.get $start) (local.get $copied))
      (then
        (memory.copy
          (i32.add (global.get $heap) (local.get $start))
          (i32.add (global.get $base) (local.get $start))
          (i32.sub (local.get $copied) (local.get $start)))
        (local.set $start (local.get $copied))))
    (if (i32.lt_u (local.get $start) (local.get $end))
      (then
        (memory.fill (i32.add (global.get $heap) (local.get $start)) (i32.const 0)
          (i32.sub (local.get $end) (local.get $start)))))
    (i32.const 0))

  ;; The same, where the guest has written to the pages.
  (func $reset_written (param $start i32) (param $end i32)
    (local $next i32)
    (if (i32.eqz (global.get $written))
      (then (drop (call $reset (local.get $start) (local.get $end))) (return)))
    (loop $pages
      (local.set $next
        (i32.add (i32.and (local.get $start) (i32.const -4096)) (i32.const 4096)))
      (if (i32.lt_u (local.get $end) (local.get $next)) (then (local.set $next (local.get $end))))
      (if (call $is_written (local.get $start))
        (then (drop (call $reset (local.get $start) (local.get $next)))))
      (local.set $start (local.get $next))
      (br_if $pages (i32.lt_u (local.get $start) (local.get $end)))))

  ;; Wipe what the allocator at `state` holds free, if its lists are sound; the number of spans,
  ;; or -1. Works in the memory at `room`: 2 MiB for spans, 2 MiB for nodes, then the bits.
  (func $free (param $state i32) (param $room i32) (result i32)
    (local $at i32)
    (global.set $state (local.get $state))
    (global.set $spans (local.get $room))
    (global.set $sum (i64.const 0))
    (global.set $sound (i32.const 1))
    (if (i32.gt_u (local.get $state) (i32.sub (global.get $heap_bytes) (i32.const 432)))
      (then (return (i32.const -1))))
    (call $small)
    (if (global.get $sound)
      (then
        (call $trees (i32.add (local.get $room) (i32.const 2097152))
                     (i32.add (local.get $room) (i32.const 4194304)))
        (call $end (call $word (i32.add (local.get $state) (i32.const 20)))
                   (call $word (i32.add (local.get $state) (i32.const 8))))
        (call $end (call $word (i32.add (local.get $state) (i32.const 24)))
                   (call $word (i32.add (local.get $state) (i32.const 12))))))
    (if (i32.or (i32.eqz (global.get $sound))
                (i64.gt_u (global.get $sum) (i64.extend_i32_u (global.get $heap_bytes))))
      (then (return (i32.const -1))))
    (local.set $at (local.get $room))
    (block $done
      (loop $wiping
        (br_if $done (i32.ge_u (local.get $at) (global.get $spans)))
        (call $reset_written (i32.load (local.get $at)) (i32.load offset=4 (local.get $at)))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $wiping)))
    (i32.shr_u (i32.sub (global.get $spans) (local.get $room)) (i32.const 3)))

  ;; -- comparing -----------------------------------------------------------------------------

  (global $stack (mut i32) (i32.const 0))
  (global $out (mut i32) (i32.const 0))      ;; where the next stretch is written
  (global $first (mut i32) (i32.const -1))   ;; of the stretch that may still grow
  (global $last (mut i32) (i32.const -1))

  ;; Whether two stretches of memory differ; their length is a multiple of 64.
  (func $differ (param $a i32) (param $b i32) (param $bytes i32) (result i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $a) (local.get $bytes)))
    (loop $next
      (if (v128.any_true
            (v128.or
              (v128.or
                (v128.xor (v128.load (local.get $a)) (v128.load (local.get $b)))
                (v128.xor (v128.load offset=16 (local.get $a))
                          (v128.load offset=16 (local.get $b))))
              (v128.or
                (v128.xor (v128.load offset=32 (local.get $a))
                          (v128.load offset=32 (local.get $b)))
                (v128.xor (v128.load offset=48 (local.get $a))
                          (v128.load offset=48 (local.get $b))))))
        (then (return (i32.const 1))))
      (local.set $b (i32.add (local.get $b) (i32.const 64)))
      (br_if $next
        (i32.lt_u (local.tee $a (i32.add (local.get $a) (i32.const 64))) (local.get $end))))
    (i32.const 0))

  ;; Write the stretch that was open: start and length in words, then its bytes.
  (func $flush
    (local $start i32) (local $bytes i32)
    (if (i32.or (i32.eq (global.get $first) (i32.const -1))
                (i32.le_u (global.get $last) (global.get $stack)))
      (then (return)))
    (local.set $start
      (select (global.get $first) (global.get $stack)
        (i32.gt_u (global.get $first) (global.get $stack))))
    (local.set $bytes (i32.sub (global.get $last) (local.get $start)))
    (i32.store (global.get $out) (i32.shr_u (local.get $start) (i32.const 2)))
    (i32.store offset=4 (global.get $out) (i32.shr_u (local.get $bytes) (i32.const 2)))
    (memory.copy (i32.add (global.get $out) (i32.const 8))
      (i32.add (global.get $heap) (local.get $start)) (local.get $bytes))
    (global.set $out
      (i32.add (global.get $out) (i32.add (i32.const 8) (local.get $bytes)))))

  ;; What differs, in whole words; joined with the stretch before it if that is near.
  (func $changed (param $start i32) (param $end i32)
    (if (i32.or
          (i32.eq (global.get $first) (i32.const -1))
          (i32.gt_s (i32.sub (local.get $start) (global.get $last)) (i32.const 16)))
      (then
        (call $flush)
        (global.set $first (local.get $start))))
    (global.set $last (local.get $end)))

  (func $difference (param $at i32) (result i32)
    (i32.xor
      (i32.load (i32.add (global.get $heap) (local.get $at)))
      (i32.load (i32.add (global.get $base) (local.get $at)))))

  ;; A block of 256 bytes that is known to differ.
  (func $block (param $block i32)
    (local $at i32) (local $until i32)
    (local.set $at (local.get $block))
    (local.set $until (i32.add (local.get $block) (i32.const 252)))
    (loop $from_start
      (if (i32.eqz (call $difference (local.get $at)))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 4)))
          (br $from_start))))
    (loop $from_end
      (if (i32.eqz (call $difference (local.get $until)))
        (then
          (local.set $until (i32.sub (local.get $until) (i32.const 4)))
          (br $from_end))))
    ;; From the first byte that differs to behind the last one: at most 32 are one change.
    (if (i32.le_s
          (i32.sub
            (i32.sub (i32.add (local.get $until) (i32.const 4))
              (i32.shr_u (i32.clz (call $difference (local.get $until))) (i32.const 3)))
            (i32.add (local.get $at)
              (i32.shr_u (i32.ctz (call $difference (local.get $at))) (i32.const 3))))
          (i32.const 32))
      (then
        (call $changed (local.get $at) (i32.add (local.get $until) (i32.const 4)))
        (return)))
    (loop $words
      (if (call $difference (local.get $at))
        (then (call $changed (local.get $at) (i32.add (local.get $at) (i32.const 4)))))
      (br_if $words
        (i32.le_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $until)))))

  (func $block_differs (param $block i32) (result i32)
    (call $differ (i32.add (global.get $heap) (local.get $block))
                  (i32.add (global.get $base) (local.get $block)) (i32.const 256)))

  ;; A page of 4096 bytes that is known to differ: by blocks, each as a whole if more than 8 do.
  (func $page (param $page i32)
    (local $block i32) (local $end i32) (local $count i32)
    (local.set $end (i32.add (local.get $page) (i32.const 4096)))
    (local.set $block (local.get $page))
    (loop $counting
      (local.set $count (i32.add (local.get $count) (call $block_differs (local.get $block))))
      (br_if $counting
        (i32.lt_u (local.tee $block (i32.add (local.get $block) (i32.const 256)))
                  (local.get $end))))
    (local.set $block (local.get $page))
    (loop $blocks
      (if (call $block_differs (local.get $block))
        (then
          (if (i32.gt_u (local.get $count) (i32.const 8))
            (then
              (call $changed (local.get $block) (i32.add (local.get $block) (i32.const 256))))
            (else (call $block (local.get $block))))))
      (br_if $blocks
        (i32.lt_u (local.tee $block (i32.add (local.get $block) (i32.const 256)))
                  (local.get $end)))))

  ;; Write what differs from `stack` on to `out`, as images have it; the number of bytes written.
  ;; `zeros` is the address of 4096 bytes of nothing, which the base is followed by.
  (func $compare (param $stack i32) (param $out i32) (param $zeros i32) (result i32)
    (local $page i32)
    (global.set $stack (local.get $stack))
    (global.set $out (local.get $out))
    (global.set $first (i32.const -1))
    (global.set $last (i32.const -1))
    (local.set $page (i32.and (local.get $stack) (i32.const -4096)))
    (drop (call $reset (local.get $page) (local.get $stack)))
    (block $done
      (loop $pages
        (br_if $done (i32.ge_u (local.get $page) (global.get $heap_bytes)))
        (if (i32.eqz (call $is_written (local.get $page)))
          (then
            (local.set $page (i32.add (local.get $page) (i32.const 4096)))
            (br $pages)))
        (if (i32.lt_u (local.get $page) (global.get $base_bytes))
          (then
            (if (call $differ (i32.add (global.get $heap) (local.get $page))
                              (i32.add (global.get $base) (local.get $page)) (i32.const 4096))
              (then (call $page (local.get $page)))))
          (else
            (if (call $differ (i32.add (global.get $heap) (local.get $page))
                              (local.get $zeros) (i32.const 4096))
              (then
                (call $changed (local.get $page)
                  (i32.add (local.get $page) (i32.const 4096)))))))
        (local.set $page (i32.add (local.get $page) (i32.const 4096)))
        (br $pages)))
    (call $flush)
    (i32.sub (global.get $out) (local.get $out)))

  ;; All of it, once the memories are in place: the number of bytes written to `room`. The memory
  ;; from `space` to `space_end`, in which the host passes data, holds nothing of the guest's; `state`
  ;; is 0 where the allocator is unknown.
  (func (export "scan") (param $space i32) (param $space_end i32) (param $state i32)
      (param $stack i32) (param $room i32) (result i32)
    (drop (call $reset (local.get $space) (local.get $space_end)))
    (if (local.get $state) (then (drop (call $free (local.get $state) (local.get $room)))))
    (call $compare (local.get $stack) (local.get $room) (i32.const 0))))
