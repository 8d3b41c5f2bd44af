;; Calls of the guest that always follow each other, as one call of the host.
;;
;; `slots` is guest memory for 16 bytes: the handle of the result; the handle of the argument, read by
;; the guest as the list of arguments; then address and length of the result's text. Behind 64 bytes
;; there is room for a text.
(module
  (import "guest" "memory" (memory 0))
  (import "guest" "new_string" (func $new_string (param i32 i32) (result i32)))
  (import "guest" "call_function" (func $call_function (param i32 i32 i32 i32 i32) (result i32)))
  (import "guest" "last_exception" (func $last_exception (param i32) (result i32)))
  (import "guest" "free_value" (func $free_value (param i32)))
  (import "guest" "execute_pending_jobs" (func $execute_pending_jobs (result i32)))
  (import "guest" "get_bool" (func $get_bool (param i32 i32) (result i32)))
  (import "guest" "get_string" (func $get_string (param i32) (result i32)))
  (import "guest" "qjs_last_ptr" (func $qjs_last_ptr (result i32)))
  (import "guest" "qjs_last_len" (func $qjs_last_len (result i32)))
  (import "guest" "qjs_result_free" (func $qjs_result_free))
  (import "guest" "table" (table 0 funcref))

  ;; QuickJS calls this by its place in the table; see `hooks.py`.
  (elem (i32.const 1023) $track)

  ;; Call a function with one argument; the status. The handles of result and argument stay in the
  ;; slots.
  (func $pass (param $function i32) (param $this i32) (param $argument i32) (param $slots i32)
      (result i32)
    (local $status i32)
    (i32.store offset=4 (local.get $slots) (local.get $argument))
    (local.set $status
      (call $call_function (local.get $function) (local.get $this)
        (i32.add (local.get $slots) (i32.const 4)) (i32.const 1) (local.get $slots)))
    (if (i32.eq (local.get $status) (i32.const 1))
      (then (drop (call $last_exception (local.get $slots)))))
    (i32.store offset=4 (local.get $slots) (local.get $argument))
    (local.get $status))

  ;; The same with a text.
  (func $call (param $function i32) (param $this i32) (param $text i32) (param $length i32)
      (param $slots i32) (result i32)
    (call $pass (local.get $function) (local.get $this)
      (call $new_string (local.get $text) (local.get $length)) (local.get $slots)))

  (func $free (param $slots i32)
    (call $free_value (i32.load (local.get $slots)))
    (call $free_value (i32.load offset=4 (local.get $slots))))

  ;; Run the jobs that wait, call a function without arguments, and do both again as long as it returns
  ;; true. The number of jobs: `most`, that of one run, or more if it is not the end; the least integer
  ;; if the function failed.
  (func $go_on (export "go_on") (param $next i32) (param $this i32) (param $slots i32)
      (param $most i32) (result i32)
    (local $jobs i32) (local $status i32)
    (loop $again
      (local.set $jobs (i32.add (local.get $jobs) (call $execute_pending_jobs)))
      (if (i32.ge_s (local.get $jobs) (local.get $most))
        (then (return (local.get $jobs))))
      (local.set $status
        (call $call_function (local.get $next) (local.get $this) (local.get $slots) (i32.const 0)
          (local.get $slots)))
      (if (i32.eq (local.get $status) (i32.const 1))
        (then (drop (call $last_exception (local.get $slots)))))
      (if (local.get $status)
        (then
          (call $free_value (i32.load (local.get $slots)))
          (return (i32.const 0x80000000))))
      (i32.store offset=8 (local.get $slots) (i32.const 0))
      (drop (call $get_bool (i32.load (local.get $slots)) (i32.add (local.get $slots) (i32.const 8))))
      (call $free_value (i32.load (local.get $slots)))
      (local.set $status (i32.load8_u offset=8 (local.get $slots)))
      (br_if $again (local.get $status)))
    (local.get $jobs))

  ;; Call a function with a text, forget its result, and go on as above; the least integer if either
  ;; function failed.
  (func (export "tell") (param $function i32) (param $this i32) (param $text i32)
      (param $length i32) (param $slots i32) (param $next i32) (param $most i32) (result i32)
    (local $status i32)
    (local.set $status
      (call $call (local.get $function) (local.get $this) (local.get $text) (local.get $length)
        (local.get $slots)))
    (call $free (local.get $slots))
    (if (result i32) (local.get $status)
      (then (i32.const 0x80000000))
      (else
        (call $go_on (local.get $next) (local.get $this) (local.get $slots) (local.get $most)))))

  ;; Call a function with a text; the status, and the text of its result. A text of more than `room`
  ;; bytes stays where it is until `asked` frees it; a shorter one is copied behind the slots. The
  ;; length is -1 where the result is no text.
  (func (export "ask") (param $function i32) (param $this i32) (param $text i32)
      (param $length i32) (param $slots i32) (param $room i32) (result i32)
    (local $status i32) (local $size i32)
    (local.set $status
      (call $call (local.get $function) (local.get $this) (local.get $text) (local.get $length)
        (local.get $slots)))
    (local.set $size (i32.const -1))
    (if (i32.eqz (local.get $status))
      (then
        (if (i32.eqz (call $get_string (i32.load (local.get $slots))))
          (then
            (local.set $size (call $qjs_last_len))
            (i32.store offset=8 (local.get $slots) (call $qjs_last_ptr))))))
    (i32.store offset=12 (local.get $slots) (local.get $size))
    (if (i32.le_s (local.get $size) (local.get $room))
      (then
        (if (i32.gt_s (local.get $size) (i32.const 0))
          (then
            (memory.copy (i32.add (local.get $slots) (i32.const 64))
              (i32.load offset=8 (local.get $slots)) (local.get $size))))
        (call $asked (local.get $slots))))
    (local.get $status))

  (func $asked (export "asked") (param $slots i32)
    (if (i32.ge_s (i32.load offset=12 (local.get $slots)) (i32.const 0))
      (then (call $qjs_result_free)))
    (call $free (local.get $slots)))

  ;; The end of the stretch at `at`, of those that end at `end`; 0 if it is none, or if it names memory
  ;; outside of that from `start` to `size`. Start and length of a stretch are in words.
  (func $stretch (param $at i32) (param $end i32) (param $start i32) (param $size i32) (result i32)
    (local $begin i64) (local $bytes i64)
    (if (i32.lt_u (i32.sub (local.get $end) (local.get $at)) (i32.const 8))
      (then (return (i32.const 0))))
    (local.set $begin (i64.shl (i64.load32_u (local.get $at)) (i64.const 2)))
    (local.set $bytes (i64.shl (i64.load32_u offset=4 (local.get $at)) (i64.const 2)))
    (if (i32.or
          (i64.lt_u (local.get $begin) (i64.extend_i32_u (local.get $start)))
          (i32.or
            (i64.gt_u (i64.add (local.get $begin) (local.get $bytes))
                      (i64.extend_i32_u (local.get $size)))
            (i64.gt_u (local.get $bytes)
                      (i64.extend_i32_u
                        (i32.sub (i32.sub (local.get $end) (local.get $at)) (i32.const 8))))))
      (then (return (i32.const 0))))
    (i32.add (local.get $at) (i32.add (i32.const 8) (i32.wrap_i64 (local.get $bytes)))))

  ;; Copy stretches of memory, as an image has them, to their places: 1, or 0 if one of them is damaged;
  ;; then nothing is copied. They lie below `start`, and none may lead there; so none is changed by
  ;; another one.
  (func (export "apply") (param $data i32) (param $bytes i32) (param $start i32) (param $size i32)
      (result i32)
    (local $at i32) (local $end i32)
    (local.set $end (i32.add (local.get $data) (local.get $bytes)))
    (if (i32.or (i32.gt_u (local.get $end) (local.get $start))
                (i32.lt_u (local.get $end) (local.get $data)))
      (then (return (i32.const 0))))
    (local.set $at (local.get $data))
    (block $checked
      (loop $checking
        (br_if $checked (i32.eq (local.get $at) (local.get $end)))
        (local.set $at
          (call $stretch (local.get $at) (local.get $end) (local.get $start) (local.get $size)))
        (br_if $checking (local.get $at)))
      (return (i32.const 0)))
    (local.set $at (local.get $data))
    (block $done
      (loop $copying
        (br_if $done (i32.eq (local.get $at) (local.get $end)))
        (memory.copy
          (i32.shl (i32.load (local.get $at)) (i32.const 2))
          (i32.add (local.get $at) (i32.const 8))
          (i32.shl (i32.load offset=4 (local.get $at)) (i32.const 2)))
        (local.set $at
          (call $stretch (local.get $at) (local.get $end) (local.get $start) (local.get $size)))
        (br $copying)))
    (i32.const 1))

  ;; Add to the number of references to a value, if it has one. A value is a number or an address, then
  ;; a tag; the tags from -9 to -1 are those of what is counted, at the beginning of its memory.
  (func $count (param $value i64) (param $by i32)
    (local $address i32)
    (if (i32.ge_u (i32.wrap_i64 (i64.shr_u (local.get $value) (i64.const 32))) (i32.const -9))
      (then
        (local.set $address (i32.wrap_i64 (local.get $value)))
        (i32.store (local.get $address)
          (i32.add (i32.load (local.get $address)) (local.get $by))))))

  ;; Note a promise that was rejected while no code handled it, with the reason; or forget one that is
  ;; handled now, which the guest still refers to. `slots` is the list `rejections` of `builtins.js`: 256
  ;; promises, each before its reason, and whether there were any. Beyond that, none is noted.
  (func $track (param $context i32) (param $promise i64) (param $reason i64)
      (param $handled i32) (param $slots i32)
    (local $at i32) (local $sought i64)
    (if (i32.eqz (local.get $slots)) (then (return)))
    (if (local.get $handled)
      (then (local.set $sought (local.get $promise))))
    (local.set $at (local.get $slots))
    (block $found
      (loop $seeking
        (br_if $found (i64.eq (i64.load (local.get $at)) (local.get $sought)))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br_if $seeking
          (i32.lt_u (local.get $at) (i32.add (local.get $slots) (i32.const 4096)))))
      (return))
    (if (local.get $handled)
      (then
        (call $count (i64.load (local.get $at)) (i32.const -1))
        (call $count (i64.load offset=8 (local.get $at)) (i32.const -1))
        (i64.store (local.get $at) (i64.const 0))
        (i64.store offset=8 (local.get $at) (i64.const 0)))
      (else
        (call $count (local.get $promise) (i32.const 1))
        (call $count (local.get $reason) (i32.const 1))
        (i64.store (local.get $at) (local.get $promise))
        (i64.store offset=8 (local.get $at) (local.get $reason))
        (i64.store offset=4096 (local.get $slots) (i64.const 1))))))
