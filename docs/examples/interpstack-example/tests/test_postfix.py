"""The engine, against the tests that every engine must pass."""

from __future__ import annotations

from interpstack_example.postfix.engine import PostfixEngine

from interpstack import Engine
from interpstack.testing import EngineProtocolTests


class TestPostfix(EngineProtocolTests):
    store = '41 "kept" set'
    recall = "kept 1 +"
    redeclare = '1 "kept" set'
    error = '"broken by the cell" throw'
    error_name = "Error"
    syntax_error = "[ 1"
    request = '( "value" 42 ) obj kit.echo await'
    exchange = """
        ( "n" 1 "list" ( 1.5 null true "é" ) "deep" ( "$" ( ( ) obj ) ) obj ) obj "data" set
        ( "value" ( "value" data ) obj kit.echo await ) obj kit.echo await
    """
    parallel = """
        0 "total" set
        ( 100 range "n" [ ( "value" n ) obj kit.echo ] for ) await
        "n" [ total n + "total" set ] for
        total
    """
    sequence = """
        0 "count" set
        [ 6 range "n" [ ( "value" n ) obj kit.echo await drop count 1 + "count" set ] for count ]
        [ "error" set ( count " " error "name" get ) join ]
        try
    """
    calls = '3 range "n" [ ( "value" n ) obj kit.note ] for'
    unawaited = '( "value" 1 ) obj kit.echo drop "left"'
    after_end = """
        "" "late" set
        [ [ ( "value" 1 ) obj kit.echo await drop ( "value" 2 ) obj kit.echo ]
          [ "message" get "late" set ]
          try ] go drop
        "started"
    """
    after_end_recall = "late"
    deadlock = "promise await"
    loop = "[ true ] [ ] while"
    chance = "random"

    def make_engine(self) -> Engine:
        return PostfixEngine()
