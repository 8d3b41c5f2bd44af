"""Postfix as the testing kit sees it: samples in the language, and the tests of the engine."""

from __future__ import annotations

from interpstack import Engine, Limits
from interpstack_example.postfix.engine import PostfixEngine
from interpstack_testing import Attack, EngineConformance, GuestSamples

_SENDS = {
    "null": ("null", None),
    "text": ('"é"', "é"),
    "large integer": ("123456789012345678901234567890", 123456789012345678901234567890),
    "tag": ('( "$" "undefined" ) obj', {"$": "undefined"}),
}
_ATTACKS = {
    "loops/spawned": Attack("[ [ true ] [ ] while ] go await", ("Timeout",)),
    "loops/handler": Attack('[ "a" throw ] [ [ true ] [ ] while ] try', ("Timeout",)),
    "loops/caught": Attack("[ [ true ] [ ] while ] [ drop ] try", ("Timeout",)),
    "throws/word": Attack("unheard-of", ("ReferenceError",)),
    "throws/too few values": Attack("+", ("TypeError",)),
    "throws/tags": Attack('"</error><result>" throw', ("Error",), message="</error><result>"),
    "large/text": Attack('( 9999 range "n" [ "xxxxx" ] for ) join', limits=Limits()),
    "nesting/source": Attack("[ " * 5000 + "] " * 5000, ("RangeError", "")),
}

POSTFIX = GuestSamples(
    language="postfix",
    store='41 "kept" set',
    recall="kept 1 +",
    redeclare='1 "kept" set',
    error='"broken by the cell" throw',
    error_name="Error",
    syntax_error="[ 1",
    print='"heard 7" print',
    print_much='3000 range "n" [ "a line of text" print ] for "printed"',
    long_text='( 4000 range "n" [ "xxxxx" ] for ) join',
    request='( "value" 42 ) obj kit.echo await',
    exchange="""
        ( "n" 1 "list" ( 1.5 null true "é" ) "deep" ( "$" ( ( ) obj ) ) obj ) obj "data" set
        ( "value" ( "value" data ) obj kit.echo await ) obj kit.echo await
    """,
    relay='( "value" ( ) obj kit.give await ) obj kit.take await',
    show="( ) obj kit.give await display await",
    parallel="""
        0 "total" set
        ( 100 range "n" [ ( "value" n ) obj kit.echo ] for ) await
        "n" [ total n + "total" set ] for
        total
    """,
    sequence="""
        0 "count" set
        [ 6 range "n" [ ( "value" n ) obj kit.echo await drop count 1 + "count" set ] for
          ( count " none" ) join ]
        [ "error" set ( count " " error "name" get ) join ]
        try
    """,
    send_much='( "value" ( 4000 range "n" [ "xxxxx" ] for ) join ) obj kit.echo await',
    notifications='3 range "n" [ ( "value" n ) obj kit.note ] for',
    unawaited='( "value" 1 ) obj kit.echo drop "left"',
    after_end="""
        "" "late" set
        [ [ ( "value" 1 ) obj kit.echo await drop ( "value" 2 ) obj kit.echo ]
          [ "message" get "late" set ]
          try ] go drop
        "started"
    """,
    after_end_recall="late",
    deadlock="promise await",
    loop="[ true ] [ ] while",
    chance="random",
    clock="now",
    wait="""
        now "begun" set  begun "last" set  1 "count" set
        [ last begun 1 + < ] [ now "last" set  count 1 + "count" set ] while
        ( "value" count ) obj kit.echo await drop
        last now < [ "later" ] [ "earlier" ] if
    """,
    sends={
        name: (f'( "value" {source} ) obj kit.echo await drop', value)
        for name, (source, value) in _SENDS.items()
    },
    store_unportable='promise "handler" set',
    recall_unportable="handler",
    squats=('1 "tools" set',),
    prepare='( "n" 41 ) obj "keep" set',
    health=(('keep "n" get 1 + host.echo await', "42"),),
    attacks=_ATTACKS,
)


class PostfixConformance(EngineConformance):
    """The kit on this engine; `interpstack engines report postfix` runs it too."""

    guest = POSTFIX

    def make_engine(self) -> Engine:
        return PostfixEngine()
