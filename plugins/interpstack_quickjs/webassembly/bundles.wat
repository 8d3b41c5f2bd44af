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
  (import "guest" "eval_async" (func $eval_async (param i32 i32 i32) (result i32)))
  (import "guest" "execute_pending_jobs" (func $execute_pending_jobs (result i32)))
  (import "guest" "get_string" (func $get_string (param i32) (result i32)))
  (import "guest" "qjs_last_ptr" (func $qjs_last_ptr (result i32)))
  (import "guest" "qjs_last_len" (func $qjs_last_len (result i32)))
  (import "guest" "qjs_result_free" (func $qjs_result_free))

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

  ;; Call a function with a text, forget its result, and run the jobs that wait: their number, or the
  ;; least integer if the function failed.
  (func (export "tell") (param $function i32) (param $this i32) (param $text i32)
      (param $length i32) (param $slots i32) (result i32)
    (local $status i32)
    (local.set $status
      (call $call (local.get $function) (local.get $this) (local.get $text) (local.get $length)
        (local.get $slots)))
    (call $free (local.get $slots))
    (if (result i32) (local.get $status)
      (then (i32.const 0x80000000))
      (else (call $execute_pending_jobs))))

  ;; Run a script, pass the promise of its end to a function, forget both, and run the jobs that wait:
  ;; their number. If the script cannot be run: the least integer plus the status, and what was thrown
  ;; stays in the slots.
  (func (export "run") (param $text i32) (param $length i32) (param $function i32) (param $this i32)
      (param $slots i32) (result i32)
    (local $status i32)
    (local.set $status
      (call $eval_async (local.get $text) (local.get $length) (local.get $slots)))
    (if (i32.eq (local.get $status) (i32.const 1))
      (then (drop (call $last_exception (local.get $slots)))))
    (if (local.get $status)
      (then (return (i32.add (i32.const 0x80000000) (local.get $status)))))
    (drop
      (call $pass (local.get $function) (local.get $this) (i32.load (local.get $slots))
        (local.get $slots)))
    (call $free (local.get $slots))
    (call $execute_pending_jobs))

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
    (call $free (local.get $slots))))
