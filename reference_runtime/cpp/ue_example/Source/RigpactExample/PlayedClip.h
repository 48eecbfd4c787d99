// A clip as `rigpact convert` writes it in .csv: a line of names (`cond_raw[0]`), then the numbers of a frame a line.
#pragma once

#include "CoreMinimal.h"
#include "Misc/FileHelper.h"

struct FPlayedClip
{
    TArray<FString> Names;
    TArray<TArray<float>> Rows;

    bool Load(const FString& Path)
    {
        TArray<FString> Lines;
        if (!FFileHelper::LoadFileToStringArray(Lines, *Path) || Lines.Num() < 2) return false;
        Lines[0].ParseIntoArray(Names, TEXT(","));
        for (int32 Line = 1; Line < Lines.Num(); ++Line)
        {
            TArray<FString> Words;
            Lines[Line].ParseIntoArray(Words, TEXT(","));
            if (Words.Num() != Names.Num()) continue;
            TArray<float> Row;
            for (const FString& Word : Words) Row.Add(FCString::Atof(*Word));
            Rows.Add(Row);
        }
        return Rows.Num() > 0;
    }

    // The numbers of a stage in a frame; false where the clip does not have all of them.
    template <int32 Width>
    bool Get(const TCHAR* Stage, int32 Frame, float (&Out)[Width]) const
    {
        const int32 Start = Names.Find(FString(Stage) + TEXT("[0]"));
        if (Start < 0 || Start + Width > Names.Num() || !Rows.IsValidIndex(Frame)) return false;
        for (int32 Index = 0; Index < Width; ++Index) Out[Index] = Rows[Frame][Start + Index];
        return true;
    }
};
